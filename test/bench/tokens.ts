import { CONNECTIONS } from './load.ts'
import { loadContender } from './load-contender.ts'
import { measureInTurn } from './rounds.ts'
import { rowsOf, type Section, valueAtLeast } from './row.ts'
import type { Connbook } from './servers.ts'

const PER_SECOND_MIN = 5_000

/** Tokens for a client whose secret connbook has made. */
export async function measureTokens(server: Connbook): Promise<Section> {
  const { client_id, client_secret } = server.credentials
  const load = {
    method: 'POST',
    paths: ['/v1/auth/token'],
    body: JSON.stringify({ client_id, client_secret }),
  } as const
  const [tokens] = await measureInTurn([loadContender('connbook', server, load)])
  return {
    title: `Token request with a generated secret, ${CONNECTIONS} connections`,
    rows: rowsOf('token request', tokens, undefined, {
      perSecond: valueAtLeast(PER_SECOND_MIN),
      cpuMicroseconds: undefined,
      latencyP50: undefined,
      latencyP99: undefined,
    }),
  }
}
