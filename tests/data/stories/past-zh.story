% zh: 过去的记录，以及它们后来怎样了

$ kb write --kind decision --title "Orders are kept in MySQL" --decision "Orders are kept in MySQL 8." --why "The team knows it." --alternatives "None." --impact src/orders.py --verification "make test" --rollback "Restore the dump."
新建      [D001] Orders are kept in MySQL  content/anchors/global/D001-orders-are-kept-in-mysql.md
2>           影响大：架构（“MySQL”）

$ git tag v1

$ kb write --kind decision --title "The ledger moves to PostgreSQL" --decision "Ledger and payments live in PostgreSQL 16." --why "They need transactions over several tables." --alternatives "None." --impact src/ledger.py --verification "make test" --rollback "Restore the dump." --coexists-with "D001=说的是账本"
新建      [D002] The ledger moves to PostgreSQL  content/anchors/global/D002-the-ledger-moves-to-postgresql.md
2>           影响大：架构（“PostgreSQL”）

$ kb supersede D001 --by D002 --yes
更新      [D002] The ledger moves to PostgreSQL  content/anchors/global/D002-the-ledger-moves-to-postgresql.md
2>           取代 [D001]
2>           [D001] Orders are kept in MySQL：生效 → 已被取代

% 某个标签时、某一天结束时
$ kb search PostgreSQL --at v1
D001   Orders are kept in MySQL  (global)
       Orders are kept in MySQL 8. None. The team knows it. - `src/orders.py` make test Restore the dump.

$ kb search MySQL --at v1
D001   Orders are kept in MySQL  (global)
       Orders are kept in «MySQL» 8. None. The team knows it. - `src/orders.py` make test Restore the dump.

$ kb show D001 --at v1 --short
[D001] Orders are kept in MySQL
- Why: The team knows it.
- Impact: src/orders.py
- Rollback: Restore the dump.

$ kb search MySQL --as-of today -n 1
D002   The ledger moves to PostgreSQL  (global)
       它取代了 D001
       Ledger and payments live in PostgreSQL 16. None. They need transactions over several tables. - `src…

$ kb search MySQL --as-of 2020-01-01
2> kb: 到 2020-01-01 为止还没有任何提交
2>     → 查看首次提交的时间：git log --reverse
? 1

$ kb show D001 --at v9
2> kb: git 在此找不到 v9
2>     → 查看有哪些：git log --oneline
? 1

$ kb show D001 --at v1 --as-of today
2> kb: --as-of 与 --at 只能给一个
2>     → 见：kb show --help
? 2

% 决策的发布说明
$ kb changes v1..HEAD
### <commit> 到 <commit> 的记录变化

**新生效 (1)**

- \[D002\] The ledger moves to PostgreSQL (global) — They need transactions over several tables.

**被取代 (1)**

- \[D001\] Orders are kept in MySQL (global) → \[D002\] The ledger moves to PostgreSQL

$ kb changes HEAD..HEAD
### <commit> 到 <commit> 的记录变化

没有记录变动

$ kb digest --since today
kb：<today> 以来

新生效 (1)

- [D002] The ledger moves to PostgreSQL (global) — They need transactions over several tables.

被取代 (1)

- [D001] Orders are kept in MySQL (global) → [D002] The ledger moves to PostgreSQL

% 出自谁手，牵连到什么
$ kb search --agent "A Tester" -n 1
D002   The ledger moves to PostgreSQL  (global)
       Ledger and payments live in PostgreSQL 16. None. They need transactions over several tables. - `src…

$ kb search orders --agent nobody
2> 没有找到
2>     → 请去掉筛选条件，或者减少、更换词语再试

$ kb impact D001
取代者         D002   ✅ 生效  The ledger moves to PostgreSQL  (global)

$ kb impact D009
2> kb: 没有记录 D009
2>     → 见：kb list
? 1
