% zh: 存档、加载、锚点

$ cat > s.jsonl <<END
> {"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f0e9a3c-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:00:00.000Z","message":{"role":"user","content":"给下单接口选一个缓存方案，最后记下决定"}}
> {"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"5f0e9a3c-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"比较了 Redis 和本地缓存。\n\n[D] 下单接口使用 Redis 缓存库存\n决策：库存数量缓存在 Redis 中，过期时间 30 秒\n理由：多个实例需要共享，架构上本地缓存无法保证一致\n\n约束：所有缓存键必须带租户前缀，因为不同租户的数据不能混在一起（安全）"}]}}
> END

$ kb 存档 --transcript s.jsonl
新建      [shop:D001] 下单接口使用 Redis 缓存库存  content/anchors/projects/shop/D001-下单接口使用-redis-缓存库存.md
新建      [shop:D002] 库存数量缓存在 Redis 中，过期时间 30 秒  content/anchors/projects/shop/D002-库存数量缓存在-redis-中-过期时间-30-秒.md
新建      [shop:C001] 所有缓存键必须带租户前缀  content/anchors/projects/shop/C001-所有缓存键必须带租户前缀.md
content/sessions/shop-<stamp>-5f0e9a3c
2>           未给出：备选方案、理由、影响范围、验证方式、回滚方式
2>           影响大：架构（“Redis”）
2>           影响大：性能（“缓存”）
2>           → 请补全：kb write --updates shop:D001 --alternatives "…" --why "…" --impact PATH --verification "…" --rollback "…"
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：架构
2>           影响大：性能（“缓存”）
2>           ≈ 0.36 [shop:D001] 下单接口使用 Redis 缓存库存
2>           → 请补全：kb write --updates shop:D002 --alternatives "…" --impact PATH --verification "…" --rollback "…"
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：安全
2>           影响大：性能（“缓存”）
2>           → 请补全：kb write --updates shop:C001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb session list
<time>  shop-<stamp>-5f0e9a3c  +3  给下单接口选一个缓存方案，最后记下决定

$ kb 加载 5f0e9a3c
## 🔸 缩形态上下文

【任务】给下单接口选一个缓存方案，最后记下决定

【已决策】
- 库存数量缓存在 Redis 中，过期时间 30 秒 (原因: 多个实例需要共享，架构上本地缓存无法保证一致)
- 下单接口使用 Redis 缓存库存

【约束】
- 所有缓存键必须带租户前缀

【当前进度】
- 已完成: 比较了 Redis 和本地缓存
- 进行中: 无
- 待处理: 无
- 下一步: 等待下一条指令：没有未完成的事项

【锚点引用】
- [D001]
- [D002]
- [C001]
2> → <dir>/content/sessions/shop-<stamp>-5f0e9a3c/hui-output.json
2> → <dir>/content/sessions/shop-<stamp>-5f0e9a3c/shi-result.json

$ kb 锚点
shop:C001 ⚠️ 待验证  所有缓存键必须带租户前缀  (project/shop)
shop:D001 ⚠️ 待验证  下单接口使用 Redis 缓存库存  (project/shop)
shop:D002 ⚠️ 待验证  库存数量缓存在 Redis 中，过期时间 30 秒  (project/shop)

$ kb 存档 --transcript s.jsonl
content/sessions/shop-<stamp>-5f0e9a3c
2> 已存过档

$ kb session list --since 2030-01-01
2> 没有归档的会话

$ kb 加载 没有这个会话
2> kb: 没有会话 没有这个会话
2>     → 见：kb session list --all
? 1

$ kb 存档 --transcript missing.jsonl
2> kb: missing.jsonl: 会话记录无法读取：No such file or directory
? 1
