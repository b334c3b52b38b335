% en: list, show, search, log, refs and history

$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --alternatives "MongoDB, MySQL" --why "Transactions and one place to look" --impact src/orders/ --verification "make test-orders" --rollback "Restore the MySQL dump" --tag storage --area architecture --session s1
created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           large impact: architecture

$ kb write --kind pitfall --title "Connection pools run dry under load" --decision "Each worker opens its own pool on top of [D001]" --why "The default pool size is per process" --tag storage --area performance
created   [P001] Connection pools run dry under load  content/anchors/global/P001-connection-pools-run-dry-under-load.md
2>           large impact: performance

$ kb write --kind interface --title "The ledger answers in minor units" --decision "GET /balance returns cents as an integer" --why "Floats lose money" --project shop --reusable --area modules
created   [shop:I001] The ledger answers in minor units  content/anchors/projects/shop/I001-the-ledger-answers-in-minor-units.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: modules
2>           reusable: useful in other projects
2>           → complete it: kb write --updates shop:I001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb list
D001   ✅ accepted  Use PostgreSQL for orders  (global)
P001   ✅ accepted  Connection pools run dry under load  (global)
shop:I001 ⚠️ proposed  The ledger answers in minor units  (project/shop)

$ kb list --kind P
P001   ✅ accepted  Connection pools run dry under load  (global)

$ kb list --tag storage --status accepted
D001   ✅ accepted  Use PostgreSQL for orders  (global)
P001   ✅ accepted  Connection pools run dry under load  (global)

$ kb list --scope project/shop
shop:I001 ⚠️ proposed  The ledger answers in minor units  (project/shop)

$ kb list --category anti-pattern
P001   ✅ accepted  Connection pools run dry under load  (global)

$ kb list --since 2030-01-01
2> no record

$ kb list --table
| ID | Record | Date | Reason |
| --- | --- | --- | --- |
| D001 | Use PostgreSQL for orders | <today> | Transactions and one place to look |
| P001 | Connection pools run dry under load | <today> | The default pool size is per process |
| I001 | The ledger answers in minor units | <today> | Floats lose money |

$ kb show D001
---
id: D001
uid: "<uid>"
kind: decision
title: Use PostgreSQL for orders
status: accepted
scope: global
date: <today>
tags: [storage]
impact: [src/orders/]
sources: [cli/s1]
---
<!-- MACHINE_BLOCK_START -->
# [D001] Use PostgreSQL for orders

## Decision

Orders live in PostgreSQL

## Alternatives

MongoDB, MySQL

## Why

Transactions and one place to look

## Impact

- `src/orders/`

## Verification

make test-orders

## Rollback

Restore the MySQL dump
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->

$ kb show d001 --short
[D001] Use PostgreSQL for orders
- Why: Transactions and one place to look
- Impact: src/orders/
- Rollback: Restore the MySQL dump

$ kb show D001 --short --strict
[D001] Use PostgreSQL for orders
- Decision: Orders live in PostgreSQL
- Alternatives: MongoDB, MySQL
- Why: Transactions and one place to look
- Impact: src/orders/
- Verification: make test-orders
- Rollback: Restore the MySQL dump

$ kb show shop:I001 --short
[I001] The ledger answers in minor units
- Why: Floats lose money

$ kb search orders
D001   Use PostgreSQL for orders  (global)
       …B, MySQL Transactions and one place to look - `src/«orders»/` make test-«orders» Restore the MySQL dump

$ kb search pool load --kind pitfall
P001   Connection pools run dry under load  (global)
       Each worker opens its own «pool» on top of [D001] The default «pool» size is per process

$ kb search nothing-of-that-name
2> nothing found
2>     → try fewer or other words; words that mean the same: kb keywords; search by meaning: kb vectors

$ kb log D001
<commit> <time> created    Add [D001] Use PostgreSQL for orders  (A Tester)

$ kb refs D001
← cites       [P001] Connection pools run dry under load

$ kb refs P001
→ cites       [D001] Use PostgreSQL for orders

$ kb history D001
<time>  written (seeded)      Add [D001] Use PostgreSQL for orders  <commit>
<time>  waits (dormant)       until a task needs it  <commit>
