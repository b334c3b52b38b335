% zh: 检查
$ kb write --kind decision --title "订单使用 PostgreSQL 存储" --decision "订单存放在 PostgreSQL，与 [D044] 不同" --why "需要事务" --area architecture
$ kb check
$ printf -- '---\nid: P001\nkind: pitfall\ntitle: "半个文' > content/anchors/global/P001-半个.md
$ kb list
$ kb show P001
$ kb check content/anchors/global/P001-半个.md
