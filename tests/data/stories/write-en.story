% en: hand candidates to the gate

% Without the six fields of a decision it is only proposed.
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "Transactions and one place to look" --area architecture
created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           → complete it: kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

% With all six it is accepted.
$ kb write --kind decision --title "Publish events through the outbox table" --decision "Order events are written to the outbox table in the same transaction" --alternatives "Dual writes" --why "An event is never lost" --impact src/outbox/ --verification "make test-outbox" --rollback "Switch back to direct publishing" --area architecture
created   [D002] Publish events through the outbox table  content/anchors/global/D002-publish-events-through-the-outbox-table.md
2>           large impact: architecture

% Below the gate: held, and counted.
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
held      Paint the settings button blue
2>           below the gate: neither repeated, nor of large impact, nor reusable
2>           → say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future yes; or wait until 1 more session(s) report it
? 3

$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
held      Paint the settings button blue
2>           below the gate: neither repeated, nor of large impact, nor reusable
2>           → say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future yes; or wait until 1 more session(s) report it
? 3

% From a second session it comes through by itself.
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s2
created   [D003] Paint the settings button blue  content/anchors/global/D003-paint-the-settings-button-blue.md
2>           not given: alternatives, impact, verification, rollback
2>           repeated: seen in 2 sessions
2>           → complete it: kb write --updates D003 --alternatives "…" --impact PATH --verification "…" --rollback "…"

% Refused: a title that could stand over anything, and something for today only.
$ kb write --kind decision --title "Fix it" --decision "It is fixed" --area architecture
refused   Fix it
2>           the title “Fix it” would fit any record
2>           → say in the title what was decided about what, like “Use FastAPI as the backend framework”
? 3

$ kb write --kind decision --title "Restart the staging server for now" --decision "For now we restart the server every morning, temporarily" --area performance
refused   Restart the staging server for now
2>           temporary: this applies to the session only
2>           → if it applies from now on, say so without “for now” or “temporarily”
? 3

% The same again.
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "Transactions and one place to look" --area architecture
unchanged [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           says the same as [D001], titles 1.00 alike

% More on the same subject.
$ kb write --kind decision --title "Use PostgreSQL for the orders" --decision "Orders live in PostgreSQL" --why "Backups are there already" --area architecture --session s3
appended  [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           says the same as [D001], titles 0.89 alike
2>           repeated: seen at least 2 times
2>           large impact: architecture

% A contradiction becomes a review; main stays as it is.
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every week" --area architecture
conflict  [D004] Use MongoDB for orders  content/anchors/global/D004-use-mongodb-for-orders.md
2>           “Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]
2>           large impact: architecture
2>           not given: alternatives, impact, verification, rollback
2>           ⎇ kb/review/D004-use-mongodb-for-orders
2>           → decide it: kb review show D004
? 4

$ kb list
D001   ⚠️ proposed  Use PostgreSQL for orders  (global)  ⎇ D004
D002   ✅ accepted  Publish events through the outbox table  (global)
D003   ⚠️ proposed  Paint the settings button blue  (global)
2> ⎇ an open review would change this record: kb review

$ git status --short

% A secret is masked before anything is stored.
$ kb write --kind pitfall --title "The payment client logs its API key at debug level" --decision "The log had api_key=sk_live_4eC39HqLyjWDarjtT1zdp7dc in it" --why "The debug formatter prints every header" --area security
created   [P001] The payment client logs its API key at debug level  content/anchors/global/P001-the-payment-client-logs-its-api-key-at-debug-lev.md
2>           large impact: security
2>           masked: stripe-key

$ grep -rc sk_live_4eC39 content/anchors/global/P001-*.md
0
? 1

% Nothing is written by a dry run.
$ kb write --dry-run --kind constraint --title "Every outgoing message is redacted" --decision "A message passes the sanitiser before it leaves" --why "Compliance" --area compliance
would create [C001] Every outgoing message is redacted  content/anchors/global/C001-every-outgoing-message-is-redacted.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: compliance
2>           large impact: security (“redacted”)
2>           → complete it: kb write --updates C001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb list --kind constraint
2> no record
