% en: what was, and what became of it

$ kb write --kind decision --title "Orders are kept in MySQL" --decision "Orders are kept in MySQL 8." --why "The team knows it." --alternatives "None." --impact src/orders.py --verification "make test" --rollback "Restore the dump."
created   [D001] Orders are kept in MySQL  content/anchors/global/D001-orders-are-kept-in-mysql.md
2>           large impact: architecture (“MySQL”)

$ git tag v1

$ kb write --kind decision --title "The ledger moves to PostgreSQL" --decision "Ledger and payments live in PostgreSQL 16." --why "They need transactions over several tables." --alternatives "None." --impact src/ledger.py --verification "make test" --rollback "Restore the dump." --coexists-with "D001=it is about the ledger"
created   [D002] The ledger moves to PostgreSQL  content/anchors/global/D002-the-ledger-moves-to-postgresql.md
2>           large impact: architecture (“PostgreSQL”)

$ kb supersede D001 --by D002 --yes
updated   [D002] The ledger moves to PostgreSQL  content/anchors/global/D002-the-ledger-moves-to-postgresql.md
2>           supersedes [D001]
2>           [D001] Orders are kept in MySQL: accepted → superseded

% as it stood at a tag, and at the end of a day
$ kb search PostgreSQL --at v1
D001   Orders are kept in MySQL  (global)
       Orders are kept in MySQL 8. None. The team knows it. - `src/orders.py` make test Restore the dump.

$ kb search MySQL --at v1
D001   Orders are kept in MySQL  (global)
       Orders are kept in «MySQL» 8. None. The team knows it. - `src/orders.py` make test Restore the dump.

$ kb show D001 --at v1 --short
[D001] Orders are kept in MySQL
- Why: The team knows it.
- Impact: src/orders.py
- Rollback: Restore the dump.

$ kb search MySQL --as-of today -n 1
D002   The ledger moves to PostgreSQL  (global)
       it supersedes D001
       Ledger and payments live in PostgreSQL 16. None. They need transactions over several tables. - `src…

$ kb search MySQL --as-of 2020-01-01
2> kb: nothing was committed yet on 2020-01-01
2>     → see when the first commit was made: git log --reverse
? 1

$ kb show D001 --at v9
2> kb: git does not know v9 here
2>     → list them: git log --oneline
? 1

$ kb show D001 --at v1 --as-of today
2> kb: give --as-of or --at, not both
2>     → see: kb show --help
? 2

% the release notes of decisions
$ kb changes v1..HEAD
### Records from <commit> to <commit>

**Decided (1)**

- \[D002\] The ledger moves to PostgreSQL (global) — They need transactions over several tables.

**Superseded (1)**

- \[D001\] Orders are kept in MySQL (global) → \[D002\] The ledger moves to PostgreSQL

$ kb changes HEAD..HEAD
### Records from <commit> to <commit>

no record changes

$ kb digest --since today
kb since <today>

Decided (1)

- [D002] The ledger moves to PostgreSQL (global) — They need transactions over several tables.

Superseded (1)

- [D001] Orders are kept in MySQL (global) → [D002] The ledger moves to PostgreSQL

% who had a hand in it, and what depends on it
$ kb search --agent "A Tester" -n 1
D002   The ledger moves to PostgreSQL  (global)
       Ledger and payments live in PostgreSQL 16. None. They need transactions over several tables. - `src…

$ kb search orders --agent nobody
2> nothing found
2>     → try it without the filters, or with fewer or other words

$ kb impact D001
superseded by  D002   ✅ accepted  The ledger moves to PostgreSQL  (global)

$ kb impact D009
2> kb: there is no record D009
2>     → see: kb list
? 1
