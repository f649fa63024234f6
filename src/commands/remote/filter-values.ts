import type { QueryValues } from '../../client/paths.ts'
import type { CommandInput } from '../../command-line/command.ts'
import { parseDigits } from '../../store/fields.ts'
import { type Filter, parseLabelFilter } from '../../store/record-filter.ts'

/** The flags that keep some records of a list or of a stream of events. */
export const filterFlags = ['prefix', 'named', 'hostname', 'recordPort', 'username', 'withLabel'] as const

type FilterOptions = CommandInput<(typeof filterFlags)[number]>['options']

/** As the parameters of a query. */
export function filterValues(options: FilterOptions): QueryValues {
  const { prefix, named: name, hostname, recordPort: port, username, withLabel: label } = options
  return { prefix, name, hostname, port, username, label }
}

/** To judge a record here. What the server would refuse keeps nothing. */
export function filterOf(options: FilterOptions): Filter {
  const { prefix, named: name, hostname, recordPort, username, withLabel } = options
  const port = recordPort === undefined ? undefined : (parseDigits(recordPort) as number)
  const given = Object.entries({ prefix, name, hostname, port, username }).filter(
    ([, value]) => value !== undefined,
  )
  const labels = withLabel.map(parseLabelFilter)
  return { ...Object.fromEntries(given), ...(labels.length === 0 ? {} : { labels }) }
}
