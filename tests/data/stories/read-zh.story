% zh: 查看与查找

$ kb write --kind decision --title "订单使用 PostgreSQL 存储" --decision "订单统一存放在 PostgreSQL" --alternatives "MongoDB" --why "需要事务" --impact src/orders/ --verification "make test-orders" --rollback "恢复 MySQL 备份" --tag 存储 --area architecture --session s1
新建      [D001] 订单使用 PostgreSQL 存储  content/anchors/global/D001-订单使用-postgresql-存储.md
2>           影响大：架构

$ kb write --kind 问题 --title "高并发下连接池耗尽" --decision "每个工作进程各开一个连接池，见 [D001] 与 [D404]" --why "默认的连接池大小按进程计算" --area performance
新建      [P001] 高并发下连接池耗尽  content/anchors/global/P001-高并发下连接池耗尽.md
2>           影响大：性能

$ kb list
D001   ✅ 生效  订单使用 PostgreSQL 存储  (global)
P001   ✅ 生效  高并发下连接池耗尽  (global)

$ kb list --kind 问题
P001   ✅ 生效  高并发下连接池耗尽  (global)

$ kb show D001 --short
[D001] 订单使用 PostgreSQL 存储
- Why: 需要事务
- Impact: src/orders/
- Rollback: 恢复 MySQL 备份

$ kb search 池
P001   高并发下连接池耗尽  (global)
       每个工作进程各开一个连接«池»，见 [D001] 与 [D404] 默认的连接«池»大小按进程计算

$ kb search 连接 并发
P001   高并发下连接池耗尽  (global)
       每个工作进程各开一个«连接»池，见 [D001] 与 [D404] 默认的«连接»池大小按进程计算

$ kb search 订单 --kind 决策
D001   订单使用 PostgreSQL 存储  (global)
       «订单»统一存放在 PostgreSQL MongoDB 需要事务 - `src/orders/` make test-orders 恢复 MySQL 备份

$ kb log D001
<commit> <time> created    新增 [D001] 订单使用 PostgreSQL 存储  (A Tester)

$ kb refs P001
→ 引用        [D001] 订单使用 PostgreSQL 存储
→ 引用        [D404] 找不到

$ kb refs D001
← 引用        [P001] 高并发下连接池耗尽

$ kb history D001
<time>  写入（播种）          新增 [D001] 订单使用 PostgreSQL 存储  <commit>
<time>  待用（休眠）          直到有任务用到它  <commit>

$ kb alaya karma
正业 (1)
  D001   ✅ 生效  订单使用 PostgreSQL 存储  (global)
恶业 (1)
  P001   ✅ 生效  高并发下连接池耗尽  (global)

$ kb list --table
| ID | 记录 | 日期 | 原因 |
| --- | --- | --- | --- |
| D001 | 订单使用 PostgreSQL 存储 | <today> | 需要事务 |
| P001 | 高并发下连接池耗尽 | <today> | 默认的连接池大小按进程计算 |
