% zh: 检查

$ kb write --kind decision --title "订单使用 PostgreSQL 存储" --decision "订单存放在 PostgreSQL，与 [D044] 不同" --why "需要事务" --area architecture
新建      [D001] 订单使用 PostgreSQL 存储  content/anchors/global/D001-订单使用-postgresql-存储.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：架构
2>           → 请补全：kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb check
content/anchors/global/D001-订单使用-postgresql-存储.md:15: 错误: [D044] 查无此记录 [citation]
    → 改正编号；如果不是引用，请写成代码：`[D044]`
2> 记录 1 条；错误 1，警告 0，涉及文件 1 个
? 1

$ printf -- '---\nid: P001\nkind: pitfall\ntitle: "半个文' > content/anchors/global/P001-半个.md

$ kb list
D001   ⚠️ 待验证  订单使用 PostgreSQL 存储  (global)
2> kb: content/anchors/global/P001-半个.md:1: frontmatter 没有结束行
2>     → 修好之前略去；见：kb check

$ kb show P001
2> kb: content/anchors/global/P001-半个.md:1: frontmatter 没有结束行
2>     → 请手工修好该文件；见：kb check
? 1

$ kb check content/anchors/global/P001-半个.md
content/anchors/global/P001-半个.md:1: 错误: frontmatter 没有结束行 [frontmatter]
    → 以一行 --- 结束它
2> 记录 1 条；错误 1，警告 0，涉及文件 1 个
? 1
