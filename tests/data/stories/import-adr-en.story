% en: take over decision records of other tools

$ mkdir -p docs/adr

$ cat > docs/adr/0001-record-architecture-decisions.md <<END
> # 1. Record architecture decisions
>
> Date: 2024-02-12
>
> ## Status
>
> Accepted
>
> ## Context
>
> We need to remember why.
>
> ## Decision
>
> We will keep architecture decision records.
>
> ## Consequences
>
> See the article by Michael Nygard.
> END

$ cat > docs/adr/0002-use-mysql.md <<END
> # 2. Use MySQL
>
> Date: 2024-02-13
>
> ## Status
>
> Superseded by [3. Use PostgreSQL](0003-use-postgresql.md)
>
> ## Context
>
> Orders need a home.
>
> ## Decision
>
> We will use MySQL.
>
> ## Consequences
>
> We run MySQL.
> END

$ cat > docs/adr/0003-use-postgresql.md <<END
> ---
> status: accepted
> date: 2024-05-01
> decision-makers: Ada, Bob
> ---
> # Use PostgreSQL
>
> ## Context and Problem Statement
>
> MySQL lost an order.
>
> ## Considered Options
>
> * MySQL
> * PostgreSQL
>
> ## Decision Outcome
>
> Chosen option: "PostgreSQL", because it keeps what it promised.
>
> ### Consequences
>
> * Good, because orders stay.
> END

$ echo "# Decisions of the shop" > docs/adr/README.md

$ kb import adr docs/adr --dry-run
would create [D001] Record architecture decisions  content/anchors/global/D001-record-architecture-decisions.md
would create [D002] Use MySQL  content/anchors/global/D002-use-mysql.md
would create [D003] Use PostgreSQL  content/anchors/global/D003-use-postgresql.md
2> kb: docs/adr/README.md: not a decision record: no number, no status, no section “Context” or “Decision”
2> would be imported: 3, unchanged: 0, no record: 1
2> nothing was written: the same without --dry-run writes it

$ kb list
2> no record

$ kb import adr docs/adr
created   [D001] Record architecture decisions  content/anchors/global/D001-record-architecture-decisions.md
created   [D002] Use MySQL  content/anchors/global/D002-use-mysql.md
created   [D003] Use PostgreSQL  content/anchors/global/D003-use-postgresql.md
2> kb: docs/adr/README.md: not a decision record: no number, no status, no section “Context” or “Decision”
2> imported: 3, unchanged: 0, no record: 1
2> to take all of it back: git -C <dir> revert --no-edit <commit>

$ kb list
D001   ✅ accepted  Record architecture decisions  (global)
D002   ❌ superseded  Use MySQL  (global)
D003   ✅ accepted  Use PostgreSQL  (global)

$ kb show D002
---
id: D002
uid: "<uid>"
kind: decision
title: Use MySQL
status: superseded
scope: global
date: 2024-02-13
sources: [docs/adr/0002-use-mysql.md]
imported: adr-tools
adr: 2
original_status: "Superseded by [3. Use PostgreSQL](0003-use-postgresql.md)"
---
<!-- MACHINE_BLOCK_START -->
# [D002] Use MySQL

## Status

Superseded by [3. Use PostgreSQL](D003-use-postgresql.md)

## Context

Orders need a home.

## Decision

We will use MySQL.

## Impact

We run MySQL.
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->
2> replaced by [D003] Use PostgreSQL

$ kb show D003
---
id: D003
uid: "<uid>"
kind: decision
title: Use PostgreSQL
status: accepted
scope: global
date: 2024-05-01
supersedes: [D002]
sources: [docs/adr/0003-use-postgresql.md]
imported: madr4
adr: 3
decision-makers: "Ada, Bob"
---
<!-- MACHINE_BLOCK_START -->
# [D003] Use PostgreSQL

## Context and Problem Statement

MySQL lost an order.

## Considered Options

* MySQL
* PostgreSQL

## Decision Outcome

Chosen option: "PostgreSQL", because it keeps what it promised.

## Why

it keeps what it promised.

## Impact

* Good, because orders stay.
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->

$ git log --format=%s
Import records from docs/adr
Make a knowledge base

% Importing again changes nothing.
$ kb import adr docs/adr
unchanged [D001] Record architecture decisions  content/anchors/global/D001-record-architecture-decisions.md
unchanged [D002] Use MySQL  content/anchors/global/D002-use-mysql.md
unchanged [D003] Use PostgreSQL  content/anchors/global/D003-use-postgresql.md
2> kb: docs/adr/README.md: not a decision record: no number, no status, no section “Context” or “Decision”
2> imported: 0, unchanged: 3, no record: 1

$ git log --format=%s -1
Import records from docs/adr

% An id that is taken becomes the next free one, and the links follow.
$ kb import adr docs/adr --project shop
created   [shop:D001] Record architecture decisions  content/anchors/projects/shop/D001-record-architecture-decisions.md
created   [shop:D002] Use MySQL  content/anchors/projects/shop/D002-use-mysql.md
created   [shop:D003] Use PostgreSQL  content/anchors/projects/shop/D003-use-postgresql.md
2> kb: docs/adr/README.md: not a decision record: no number, no status, no section “Context” or “Decision”
2> imported: 3, unchanged: 0, no record: 1
2> to take all of it back: git -C <dir> revert --no-edit <commit>

$ kb refs shop:D003
→ supersedes  [shop:D002] Use MySQL
← cites       [shop:D002] Use MySQL

$ kb import adr docs/nowhere
2> kb: docs/nowhere: there is no such file or folder
? 1

$ kb import adr docs/adr/README.md
2> kb: docs/adr/README.md: not a decision record: no number, no status, no section “Context” or “Decision”
2> imported: 0, unchanged: 0, no record: 1
? 1

$ kb import adr docs/adr --project shop --scope global
2> kb: give --scope or --project, not both
2>     → see: kb import adr --help
? 2
