% en: save, list and load a session

$ cat > s.jsonl <<END
> {"type":"user","uuid":"u1","parentUuid":null,"sessionId":"0a1b2c3d-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:00:00.000Z","message":{"role":"user","content":"Choose a cache for the order endpoint and write the decision down"}}
> {"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"0a1b2c3d-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I compared Redis with a local cache.\n\nDecision: The order endpoint caches stock in Redis, because all instances of the architecture must share it.\n\nConstraint: Every cache key must carry the tenant prefix, because data of different tenants must never mix (security)."}]}}
> END

$ kb session save --transcript s.jsonl
created   [shop:D001] The order endpoint caches stock in Redis  content/anchors/projects/shop/D001-the-order-endpoint-caches-stock-in-redis.md
created   [shop:C001] Every cache key must carry the tenant prefix  content/anchors/projects/shop/C001-every-cache-key-must-carry-the-tenant-prefix.md
content/sessions/shop-<stamp>-0a1b2c3d
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           large impact: performance (“caches”)
2>           → complete it: kb write --updates shop:D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"
2>           not given: alternatives, impact, verification, rollback
2>           large impact: security
2>           large impact: performance (“cache”)
2>           → complete it: kb write --updates shop:C001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb session list
<time>  shop-<stamp>-0a1b2c3d  +2  Choose a cache for the order endpoint and write the decision down

$ kb session load 0a1b2c3d
## 🔸 Compact context

【Task】 Choose a cache for the order endpoint and write the decision down

【Decided】
- The order endpoint caches stock in Redis (reason: all instances of the architecture must share it)

【Constraints】
- Every cache key must carry the tenant prefix

【Progress】
- Done: I compared Redis with a local cache
- In progress: none
- To do: none
- Next: wait for the next prompt; nothing is open

【Anchors】
- [D001]
- [C001]
2> → <dir>/content/sessions/shop-<stamp>-0a1b2c3d/hui-output.json
2> → <dir>/content/sessions/shop-<stamp>-0a1b2c3d/shi-result.json

$ kb list
shop:C001 ⚠️ proposed  Every cache key must carry the tenant prefix  (project/shop)
shop:D001 ⚠️ proposed  The order endpoint caches stock in Redis  (project/shop)

$ kb session save --transcript s.jsonl --json
{
  "session": "0a1b2c3d-1111-4222-8333-444455556666",
  "compact": "## 🔸 Compact context\n\n【Task】 Choose a cache for the order endpoint and write the decision down\n\n【Decided】\n- The order endpoint caches stock in Redis (reason: all instances of the architecture must share it)\n\n【Constraints】\n- Every cache key must carry the tenant prefix\n\n【Progress】\n- Done: I compared Redis with a local cache\n- In progress: none\n- To do: none\n- Next: wait for the next prompt; nothing is open\n\n【Anchors】\n- [D001]\n- [C001]\n",
  "candidates": [],
  "verdicts": [],
  "archive": "shop-<stamp>-0a1b2c3d",
  "notes": [
    "already saved"
  ],
  "kept": ""
}

$ kb session list --since soon
2> kb: soon is not a day
2>     → use today, yesterday, week, 7d or 2026-11-21
? 1
