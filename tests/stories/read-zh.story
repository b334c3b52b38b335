% zh: 查看与查找
$ kb write --kind decision --title "订单使用 PostgreSQL 存储" --decision "订单统一存放在 PostgreSQL" --alternatives "MongoDB" --why "需要事务" --impact src/orders/ --verification "make test-orders" --rollback "恢复 MySQL 备份" --tag 存储 --area architecture --session s1
$ kb write --kind 问题 --title "高并发下连接池耗尽" --decision "每个工作进程各开一个连接池，见 [D001] 与 [D404]" --why "默认的连接池大小按进程计算" --area performance
$ kb list
$ kb list --kind 问题
$ kb show D001 --short
$ kb search 池
$ kb search 连接 并发
$ kb search 订单 --kind 决策
$ kb log D001
$ kb refs P001
$ kb refs D001
$ kb history D001
$ kb alaya karma
$ kb list --table
