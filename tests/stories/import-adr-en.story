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
$ kb list
$ kb import adr docs/adr
$ kb list
$ kb show D002
$ kb show D003
$ git log --format=%s
% Importing again changes nothing.
$ kb import adr docs/adr
$ git log --format=%s -1
% An id that is taken becomes the next free one, and the links follow.
$ kb import adr docs/adr --project shop
$ kb refs shop:D003
$ kb import adr docs/nowhere
$ kb import adr docs/adr/README.md
$ kb import adr docs/adr --project shop --scope global
