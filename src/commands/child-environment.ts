import { clientVariables } from '../client/endpoint.ts'
import { firstStartVariables } from '../service/first-start.ts'

const credentialVariables: readonly string[] = [
  clientVariables.token,
  clientVariables.clientSecret,
  `${clientVariables.clientSecret}_FILE`,
  ...firstStartVariables,
]

/** The environment for another program: that of this process, without the variables that hold credentials of connbook. */
export function childEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = { ...environment }
  for (const name of credentialVariables) delete own[name]
  return own
}
