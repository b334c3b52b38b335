% zh: 存档、加载、锚点
$ cat > s.jsonl <<END
> {"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f0e9a3c-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:00:00.000Z","message":{"role":"user","content":"给下单接口选一个缓存方案，最后记下决定"}}
> {"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"5f0e9a3c-1111-4222-8333-444455556666","cwd":"/tmp/shop","timestamp":"2026-11-20T08:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"比较了 Redis 和本地缓存。\n\n[D] 下单接口使用 Redis 缓存库存\n决策：库存数量缓存在 Redis 中，过期时间 30 秒\n理由：多个实例需要共享，架构上本地缓存无法保证一致\n\n约束：所有缓存键必须带租户前缀，因为不同租户的数据不能混在一起（安全）"}]}}
> END
$ kb 存档 --transcript s.jsonl
$ kb session list
$ kb 加载 5f0e9a3c
$ kb 锚点
$ kb 存档 --transcript s.jsonl
$ kb session list --since 2030-01-01
$ kb 加载 没有这个会话
$ kb 存档 --transcript missing.jsonl
