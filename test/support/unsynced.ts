// Import this first in a process whose tests may lose their files with the power: nothing in it waits for a disk. That
// the program syncs is tested with a disk in memory that forgets (`faults/volatile`), and with the executable.
import { open } from 'node:fs/promises'
import { devNull } from 'node:os'

await using file = await open(devNull)
const prototype: Pick<typeof file, 'sync' | 'datasync' | 'stat'> = Object.getPrototypeOf(file)
// It fails for a closed file, as the real ones do.
prototype.sync = prototype.datasync = async function (this: typeof file) {
  await this.stat()
}
