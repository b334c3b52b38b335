% en: save, list and load a session
$ cat > s.jsonl <<END
> {"type":"user","uuid":"u1","parentUuid":null,"sessionId":"0a1b2c3d-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:00:00.000Z","message":{"role":"user","content":"Choose a cache for the order endpoint and write the decision down"}}
> {"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"0a1b2c3d-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I compared Redis with a local cache.\n\nDecision: The order endpoint caches stock in Redis, because all instances of the architecture must share it.\n\nConstraint: Every cache key must carry the tenant prefix, because data of different tenants must never mix (security)."}]}}
> END
$ kb session save --transcript s.jsonl
$ kb session list
$ kb session load 0a1b2c3d
$ kb list
$ kb session save --transcript s.jsonl --json
$ kb session list --since soon
