% en: a contradiction becomes a review, and a person decides
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL" --why "It has transactions and we run it already" --area architecture --session s1
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every single week" --area architecture --session s2
$ kb review
$ kb review show D002
$ git branch --format '%(refname:short)'
% The same contradiction again joins the open review.
$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The whole team knows it well" --area architecture --session s3
$ kb review push D002
$ kb review accept D002
$ kb review
$ kb list
$ kb history D001
$ git status --short
$ kb review accept D002
$ kb check
