% zh: 矛盾成为评审，由人定夺
$ kb write --kind decision --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture --session s2
$ kb review
$ kb review show D002
$ kb review reject D002
$ kb review
$ kb list
% 已经否决过的，不再提出
$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture --session s3
$ git for-each-ref --format '%(refname)'
