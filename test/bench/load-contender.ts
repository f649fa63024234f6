import type { Load } from './load.ts'
import { measureLoad } from './measure-load.ts'
import type { Contender } from './rounds.ts'
import type { ServerProcess } from './server-process.ts'

const WARM_UP_MS = 2_000
const MEASURED_MS = 1_500

/** A server that runs through all rounds, under one load. */
export function loadContender(
  name: string,
  server: ServerProcess,
  load: Load,
  warmUpMs = WARM_UP_MS,
): Required<Contender> {
  return {
    name,
    warmUp: () => measureLoad(server, load, warmUpMs),
    measure: () => measureLoad(server, load, MEASURED_MS),
  }
}
