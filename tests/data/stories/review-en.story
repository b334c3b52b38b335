% en: a contradiction becomes a review, and a person decides

$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "It has transactions and we run it already" --area architecture --session s1
created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           → complete it: kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every single week" --area architecture --session s2
conflict  [D002] Use MongoDB for orders  content/anchors/global/D002-use-mongodb-for-orders.md
2>           “Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]
2>           large impact: architecture
2>           not given: alternatives, impact, verification, rollback
2>           ⎇ kb/review/D002-use-mongodb-for-orders
2>           → decide it: kb review show D002
? 4

$ kb review
kb/review/D002-use-mongodb-for-orders  (today, cli/s2)
    + [D002] Use MongoDB for orders
    − [D001] Use PostgreSQL for orders
2> both sides: kb review show D002; then kb review accept D002, or kb review reject D002

$ kb review show D002
“Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]
large impact: architecture
not given: alternatives, impact, verification, rollback
| [D001] Use PostgreSQL for orders | [D002] Use MongoDB for orders |
| --- | --- |
| Decision: Orders live in PostgreSQL | Decision: Orders live in MongoDB |
| Why: It has transactions and we run it already | Why: The schema changes every single week |

diff --git a/content/anchors/global/D001-use-postgresql-for-orders.md b/content/anchors/global/D001-use-postgresql-for-orders.md
index <commit> 100644
--- a/content/anchors/global/D001-use-postgresql-for-orders.md
+++ b/content/anchors/global/D001-use-postgresql-for-orders.md
@@ -3,7 +3,7 @@ id: D001
 uid: "<uid>"
 kind: decision
 title: Use PostgreSQL for orders
-status: proposed
+status: superseded
 scope: global
 date: <today>
 sources: [cli/s1]
diff --git a/content/anchors/global/D002-use-mongodb-for-orders.md b/content/anchors/global/D002-use-mongodb-for-orders.md
new file mode 100644
index <commit>
--- /dev/null
+++ b/content/anchors/global/D002-use-mongodb-for-orders.md
@@ -0,0 +1,26 @@
+---
+id: D002
+uid: "<uid>"
+kind: decision
+title: Use MongoDB for orders
+status: accepted
+scope: global
+date: <today>
+supersedes: [D001]
+sources: [cli/s2]
+---
+<!-- MACHINE_BLOCK_START -->
+# [D002] Use MongoDB for orders
+
+## Decision
+
+Orders live in MongoDB
+
+## Why
+
+The schema changes every single week
+<!-- MACHINE_BLOCK_END -->
+
+<!-- USER_BLOCK_START -->
+
+<!-- USER_BLOCK_END -->
2> to decide it: kb review accept D002, or kb review reject D002

$ git branch --format '%(refname:short)'
kb/review/D002-use-mongodb-for-orders
main

% The same contradiction again joins the open review.
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The whole team knows it well" --area architecture --session s3
conflict  [D002] Use MongoDB for orders  content/anchors/global/D002-use-mongodb-for-orders.md
2>           “Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]
2>           large impact: architecture
2>           ⎇ kb/review/D002-use-mongodb-for-orders
2>           → decide it: kb review show D002
? 4

$ kb review push D002
2> kb: there is no remote origin
2>     → git remote add origin URL
? 1

$ kb review accept D002
2> kb: only a person decides a review
2>     → at a terminal, or in a script of your own with --yes
? 5

% a team may ask for more than the decision and its reasons
$ echo 'required = ["decision", "why", "verification"]' >> kb.toml

$ kb review accept D002 --yes
2> kb: content/anchors/global/D002-use-mongodb-for-orders.md: [D002] lacks: verification
2>     → complete it on kb/review/D002-use-mongodb-for-orders, or submit it again with them: kb write
? 1

$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --alternatives "PostgreSQL with a column of JSON" --why "The schema changes every single week" --impact kb.toml --verification "Run the order tests" --rollback "Import the last dump" --area architecture --session s3
conflict  [D002] Use MongoDB for orders  content/anchors/global/D002-use-mongodb-for-orders.md
2>           “Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]
2>           large impact: architecture
2>           ⎇ kb/review/D002-use-mongodb-for-orders
2>           → decide it: kb review show D002
? 4

$ kb review accept D002 --yes
updated   [D002] Use MongoDB for orders  content/anchors/global/D002-use-mongodb-for-orders.md
2>           accepted; it replaces D001
2>           [D001] Use PostgreSQL for orders: proposed → superseded

$ kb review
2> no review is open

$ kb list
D001   ❌ superseded  Use PostgreSQL for orders  (global)
D002   ✅ accepted  Use MongoDB for orders  (global)

$ kb history D001
<time>  written (seeded)      Add [D001] Use PostgreSQL for orders  <commit>
<time>  waits (dormant)       until a task needs it  <commit>
<time>  ended (obsolete)      Replace [D001] by [D002] Use MongoDB for orders  <commit>

$ git status --short
 M kb.toml

$ kb review accept D002 --yes
2> kb: there is no open review D002
2>     → see: kb review
? 1

$ kb check
2> records: 2; no problems found
