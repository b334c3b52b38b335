% en: what a program reads
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL, see [D009]" --why "It has transactions and we run it already" --area architecture --session s1 --json
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1 --json
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every single week" --area architecture --json
$ kb list --json
$ kb show D001 --json
$ kb search orders --json
$ kb log D001 --json
$ kb refs D001 --json
$ kb history D001 --json
$ kb inbox --json
$ kb review --json
$ kb hint t2 -k orders --json
$ kb alaya seeds --json
$ kb confirm D001 --json
$ kb write --schema | python3 -c "import json, sys; print(json.load(sys.stdin)['required'])"
