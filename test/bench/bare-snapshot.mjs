// What a snapshot asks of the disk and nothing else: writes a file in slices, syncs it, puts it in the place of an
// old one, syncs the folder and removes another file. Tells when it began and ended, on the shared monotonic clock.
import { open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

const SLICE_BYTES = 64 * 1024

const [path = '', bytes = '0', toRemove = ''] = process.argv.slice(2)
const now = () => Number(process.hrtime.bigint()) / 1e6

const begin = now()
const file = await open(`${path}.tmp`, 'wx')
const slice = Buffer.alloc(SLICE_BYTES, '{"id":1}\n')
for (let written = 0; written < Number(bytes); written += slice.length) await file.write(slice)
await file.sync()
await file.close()
await rename(`${path}.tmp`, path)
const folder = await open(dirname(path))
await folder.sync()
await folder.close()
await unlink(toRemove)
console.log(JSON.stringify({ begin, end: now() }))
