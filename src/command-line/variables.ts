import { clientVariables } from '../client/variables.ts'
import type { Log } from '../log.ts'
import { firstStartVariables } from '../service/first-start.ts'
import { findNearest } from './nearest.ts'
import { describeFlags, serverFlags } from './options.ts'

const PREFIX = 'CONNBOOK_'

/**
 * Logs the variables of the environment that have no effect on a server: those that are empty, and those with a name
 * that connbook does not know, but that is nearly one of its own. Others with this prefix belong to other programs,
 * such as the CONNBOOK_SERVICE_HOST of Kubernetes.
 */
export function warnOfVariables(environment: NodeJS.ProcessEnv, log: Log): void {
  const ofFlags = describeFlags(serverFlags).flatMap(({ variables }) => variables)
  const ofClients = [...Object.values(clientVariables), `${clientVariables.clientSecret}_FILE`]
  const known = [...ofFlags, ...firstStartVariables, ...ofClients].filter((variable) =>
    variable.startsWith(PREFIX),
  )
  const ofServer = known.filter((variable) => !ofClients.includes(variable))
  const empty = ofServer.filter((variable) => environment[variable] === '')
  if (empty.length > 0) log.info('variables_empty', { variables: empty.join(' ') })
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue
    const bare = known.map((name) => name.slice(PREFIX.length))
    const nearest = findNearest(variable.slice(PREFIX.length), bare)
    if (nearest !== undefined)
      log.warn('variable_unknown', { variable, remedy: `did you mean ${PREFIX}${nearest}?` })
  }
}
