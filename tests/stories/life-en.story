% en: supersede, status, confirm, rm
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "It has transactions and we run it already" --area architecture
$ kb write --kind decision --title "Store invoices in the object store" --decision "Invoices are files in the object store" --alternatives "In the database" --why "They are large" --impact src/invoices/ --verification "make test" --rollback "Copy them back" --area architecture
$ kb supersede D001 --by D002
$ kb show D001
$ kb refs D001
$ kb supersede D001 --by D002
$ kb supersede D002 --by D002
$ kb confirm D002
$ kb confirm D002
$ kb status D002 deprecated --why "The object store is switched off"
$ kb status D002 proposed
$ kb status D002 wonderful
$ kb rm D001
$ kb list
$ kb history D002
$ git log --format=%s
$ git status --short
$ EDITOR="sed -i s/large/very-large/" kb edit D002
$ EDITOR=true kb edit D002
$ kb log D002
