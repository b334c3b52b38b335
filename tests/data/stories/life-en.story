% en: supersede, status, confirm, rm

$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "It has transactions and we run it already" --area architecture
created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           → complete it: kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind decision --title "Store invoices in the object store" --decision "Invoices are files in the object store" --alternatives "In the database" --why "They are large" --impact src/invoices/ --verification "make test" --rollback "Copy them back" --area architecture
created   [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           large impact: architecture

$ kb supersede D001 --by D002 --yes
updated   [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           supersedes [D001]
2>           [D001] Use PostgreSQL for orders: proposed → superseded

$ kb show D001
---
id: D001
uid: "<uid>"
kind: decision
title: Use PostgreSQL for orders
status: superseded
scope: global
date: <today>
---
<!-- MACHINE_BLOCK_START -->
# [D001] Use PostgreSQL for orders

## Decision

Orders live in PostgreSQL

## Why

It has transactions and we run it already
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->
2> replaced by [D002] Store invoices in the object store

$ kb refs D001
← supersedes  [D002] Store invoices in the object store

$ kb supersede D001 --by D002 --yes
unchanged [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           supersedes [D001]

$ kb supersede D002 --by D002 --yes
2> kb: [D002] cannot replace itself
? 1

$ kb confirm D002
updated   [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           confirmed

$ kb confirm D002
unchanged [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           confirmed today already

$ kb status D002 deprecated --why "The object store is switched off" --yes
updated   [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md
2>           accepted → deprecated

$ kb status D002 proposed --yes
2> kb: content/anchors/global/D002-store-invoices-in-the-object-store.md: [D002] is deprecated; from there it can become: accepted, superseded
? 1

$ kb status D002 wonderful
2> kb: give one of: proposed, accepted, rejected, deprecated, superseded
2>     → see: kb status --help
? 2

$ kb rm D001 --yes
unchanged [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           it is already no longer in effect
2>           replaced by [D002] Store invoices in the object store

$ kb list
D001   ❌ superseded  Use PostgreSQL for orders  (global)
D002   ❌ deprecated  Store invoices in the object store  (global)

$ kb history D002
<time>  written (seeded)      Add [D002] Store invoices in the object store  <commit>
<time>  waits (dormant)       until a task needs it  <commit>
<time>  ended (obsolete)      Replace [D001] by [D002]  <commit>
<time>  changed (updated)     Confirm [D002] Store invoices in the object store  <commit>
<time>  ended (obsolete)      Change status of [D002] to deprecated: The object store is switched off  <commit>

$ git log --format=%s
Change status of [D002] to deprecated
Confirm [D002] Store invoices in the object store
Replace [D001] by [D002]
Add [D002] Store invoices in the object store
Add [D001] Use PostgreSQL for orders
Make a knowledge base

$ git status --short

$ EDITOR="sed -i s/large/very-large/" kb edit D002
updated   [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md

$ EDITOR=true kb edit D002
unchanged [D002] Store invoices in the object store  content/anchors/global/D002-store-invoices-in-the-object-store.md

$ kb log D002
<commit> <time> edited     Edit [D002] Store invoices in the object store  (A Tester)
<commit> <time> status deprecated Change status of [D002] to deprecated  (A Tester)
<commit> <time> confirmed  Confirm [D002] Store invoices in the object store  (A Tester)
<commit> <time> superseded Replace [D001] by [D002]  (A Tester)
<commit> <time> created    Add [D002] Store invoices in the object store  (A Tester)
