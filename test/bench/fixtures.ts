import { prepareFolder } from './prepared-folders.ts'
import { type Connbook, startConnbookOnCopy } from './servers.ts'

/** What several measurements share: each is made when the first one asks for it. */
export interface Fixtures extends AsyncDisposable {
  readonly workshop: string
  /** A prepared folder with so many records; not to be changed. */
  folder(records: number): Promise<string>
  /** A server with so many records. */
  server(records: number): Promise<Connbook>
  /** Ends the servers; the next call of `server` starts others. */
  stopServers(): Promise<void>
}

/** @param workshop A folder for data folders, on the disk that is to be measured. */
export function createFixtures(workshop: string): Fixtures {
  const folder = once((records) => prepareFolder(workshop, records))
  const servers = new Map<number, Promise<Connbook>>()
  const stopServers = async () => {
    const running = await Promise.all(servers.values())
    servers.clear()
    for (const server of running) await server[Symbol.asyncDispose]()
  }
  return {
    workshop,
    folder,
    server: once(async (records) => startConnbookOnCopy(await folder(records), workshop), servers),
    stopServers,
    [Symbol.asyncDispose]: stopServers,
  }
}

function once<Made>(make: (records: number) => Promise<Made>, made = new Map<number, Promise<Made>>()) {
  return (records: number): Promise<Made> => {
    const known = made.get(records)
    if (known !== undefined) return known
    const making = make(records)
    made.set(records, making)
    return making
  }
}
