% en: list, show, search, log, refs and history
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --alternatives "MongoDB, MySQL" --why "Transactions and one place to look" --impact src/orders/ --verification "make test-orders" --rollback "Restore the MySQL dump" --tag storage --area architecture --session s1
$ kb write --kind pitfall --title "Connection pools run dry under load" --decision "Each worker opens its own pool on top of [D001]" --why "The default pool size is per process" --tag storage --area performance
$ kb write --kind interface --title "The ledger answers in minor units" --decision "GET /balance returns cents as an integer" --why "Floats lose money" --project shop --reusable --area modules
$ kb list
$ kb list --kind P
$ kb list --tag storage --status accepted
$ kb list --scope project/shop
$ kb list --category anti-pattern
$ kb list --since 2030-01-01
$ kb list --table
$ kb show D001
$ kb show d001 --short
$ kb show D001 --short --strict
$ kb show shop:I001 --short
$ kb search orders
$ kb search pool load --kind pitfall
$ kb search nothing-of-that-name
$ kb log D001
$ kb refs D001
$ kb refs P001
$ kb history D001
