import type { RouteDescription } from '../../src/resources/routes.ts'

type Row = Pick<RouteDescription, 'method' | 'path' | 'summary' | 'answers'>

/** The HTTP interface as lines of a Markdown table; path parameters are in capitals. */
export function interfaceTable(routes: readonly Row[]): string[] {
  const rows = routes.map(({ method, path, summary, answers }) => {
    const shown = path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase())
    return `| \`${method} ${shown}\` | ${summary} | ${answers} |`
  })
  return ['| call | does | answers |', '|---|---|---|', ...rows]
}
