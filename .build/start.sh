# Serves from source, on the Node that npm ci has installed.
if ! test -x node_modules/.bin/node; then
  echo 'Run npm ci first: it brings the Node that connbook needs' >&2
  exit 1
fi
exec node_modules/.bin/node --disable-sigusr1 --import tsx src/main.ts "$@"
