% en: hand candidates to the gate
% Without the six fields of a decision it is only proposed.
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "Transactions and one place to look" --area architecture
% With all six it is accepted.
$ kb write --kind decision --title "Publish events through the outbox table" --decision "Order events are written to the outbox table in the same transaction" --alternatives "Dual writes" --why "An event is never lost" --impact src/outbox/ --verification "make test-outbox" --rollback "Switch back to direct publishing" --area architecture
% Below the gate: held, and counted.
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
% From a second session it comes through by itself.
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s2
% Refused: a title that could stand over anything, and something for today only.
$ kb write --kind decision --title "Fix it" --decision "It is fixed" --area architecture
$ kb write --kind decision --title "Restart the staging server for now" --decision "For now we restart the server every morning, temporarily" --area performance
% The same again.
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "Transactions and one place to look" --area architecture
% More on the same subject.
$ kb write --kind decision --title "Use PostgreSQL for the orders" --decision "Orders live in PostgreSQL" --why "Backups are there already" --area architecture --session s3
% A contradiction becomes a review; main stays as it is.
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every week" --area architecture
$ kb list
$ git status --short
% A secret is masked before anything is stored.
$ kb write --kind pitfall --title "The payment client logs its API key at debug level" --decision "The log had api_key=sk_live_4eC39HqLyjWDarjtT1zdp7dc in it" --why "The debug formatter prints every header" --area security
$ grep -rc sk_live_4eC39 content/anchors/global/P001-*.md
% Nothing is written by a dry run.
$ kb write --dry-run --kind constraint --title "Every outgoing message is redacted" --decision "A message passes the sanitiser before it leaves" --why "Compliance" --area compliance
$ kb list --kind constraint
