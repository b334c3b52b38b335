% zh: 矛盾成为评审，由人定夺

$ kb write --kind decision --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
新建      [D001] 使用 FastAPI 作为后端框架  content/anchors/global/D001-使用-fastapi-作为后端框架.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：架构
2>           → 请补全：kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture --session s2
矛盾      [D002] 采用 Flask 作为后端框架  content/anchors/global/D002-采用-flask-作为后端框架.md
2>           “采用 Flask 作为后端框架”与 [D001] 中“使用 FastAPI 作为后端框架”的选择不同
2>           影响大：架构
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           ⎇ kb/review/D002-采用-flask-作为后端框架
2>           → 请定夺：kb review show D002
? 4

$ kb review
kb/review/D002-采用-flask-作为后端框架  (今天, cli/s2)
    + [D002] 采用 Flask 作为后端框架
    − [D001] 使用 FastAPI 作为后端框架
2> 看两边：kb review show D002；再定夺：kb review accept D002，或 kb review reject D002

$ kb review show D002
“采用 Flask 作为后端框架”与 [D001] 中“使用 FastAPI 作为后端框架”的选择不同
影响大：架构
未给出：备选方案、影响范围、验证方式、回滚方式
| [D001] 使用 FastAPI 作为后端框架 | [D002] 采用 Flask 作为后端框架 |
| --- | --- |
| 决策: 后端统一使用 FastAPI | 决策: 后端统一使用 Flask |
| 理由: 类型提示和异步支持好 | 理由: 团队更熟悉 |

diff --git a/content/anchors/global/D001-使用-fastapi-作为后端框架.md b/content/anchors/global/D001-使用-fastapi-作为后端框架.md
index <commit> 100644
--- a/content/anchors/global/D001-使用-fastapi-作为后端框架.md
+++ b/content/anchors/global/D001-使用-fastapi-作为后端框架.md
@@ -3,7 +3,7 @@ id: D001
 uid: "<uid>"
 kind: decision
 title: 使用 FastAPI 作为后端框架
-status: proposed
+status: superseded
 scope: global
 date: <today>
 ---
diff --git a/content/anchors/global/D002-采用-flask-作为后端框架.md b/content/anchors/global/D002-采用-flask-作为后端框架.md
new file mode 100644
index <commit>
--- /dev/null
+++ b/content/anchors/global/D002-采用-flask-作为后端框架.md
@@ -0,0 +1,26 @@
+---
+id: D002
+uid: "<uid>"
+kind: decision
+title: 采用 Flask 作为后端框架
+status: accepted
+scope: global
+date: <today>
+supersedes: [D001]
+sources: [cli/s2]
+---
+<!-- MACHINE_BLOCK_START -->
+# [D002] 采用 Flask 作为后端框架
+
+## 决策
+
+后端统一使用 Flask
+
+## 理由
+
+团队更熟悉
+<!-- MACHINE_BLOCK_END -->
+
+<!-- USER_BLOCK_START -->
+
+<!-- USER_BLOCK_END -->
2> 定夺：kb review accept D002，或 kb review reject D002

$ kb review reject D002 --yes
更新      [D002] 采用 Flask 作为后端框架
2>           已否决，保留在 refs/kb/rejected/D002-采用-flask-作为后端框架；查看：kb review show D002

$ kb review
2> 没有待决的评审

$ kb list
D001   ⚠️ 待验证  使用 FastAPI 作为后端框架  (global)

% 已经否决过的，不再提出
$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture --session s3
拒绝      采用 Flask 作为后端框架
2>           此前已有人否决过，见 refs/kb/rejected/D002-采用-flask-作为后端框架（A Tester 于 2026-11-21 否决）
2>           “采用 Flask 作为后端框架”与 [D001] 中“使用 FastAPI 作为后端框架”的选择不同
2>           影响大：架构
2>           → 先与对方商量，再运行：kb edit D001
? 3

$ git for-each-ref --format '%(refname)'
refs/heads/main
refs/kb/rejected/D002-采用-flask-作为后端框架
