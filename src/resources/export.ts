import { InvalidInputError } from '../errors.ts'
import { prepareExport } from '../exchange/export.ts'
import { exportFormatNames, exportFormats } from '../exchange/export-formats.ts'
import type { Reply, Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { FAULTS_MAX } from '../limits.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { counted, eitherOf } from '../text.ts'
import { parseChoices } from './query.ts'

const MUST_BE = `must be ${eitherOf(exportFormatNames)}`

export function exportHandlers(store: ConfigurationStore) {
  return { exportAll }

  async function exportAll(request: Request): Promise<Reply> {
    const query = parseChoices(request.query, { format: exportFormatNames, skip: ['0', '1'] })
    if (query.format === undefined) {
      throw new InvalidInputError('The query is not valid', [{ field: 'format', detail: MUST_BE }])
    }
    const format = exportFormats[query.format]
    const { count: records } = store
    const prepared = await prepareExport(format, () => store.freeze(), FAULTS_MAX)
    if (prepared.leftOut > 0 && query.skip !== '1') {
      const faults = prepared.obstacles.map(({ name, reason }) => ({ field: 'name', name, detail: reason }))
      throw new Problem(
        'not_expressible',
        `Cannot express ${prepared.leftOut} of ${counted(records, 'record')} as ${query.format}; rename or change them, or leave them out with skip=1`,
        { faults },
      )
    }
    return {
      status: 200,
      headers: {
        'Content-Type': format.mediaType,
        'Content-Length': String(prepared.bytes),
        'Content-Disposition': `attachment; filename="${format.fileName}"`,
        'Cache-Control': 'no-cache, private',
        'X-Total-Count': String(prepared.count),
        'X-Left-Out': String(prepared.leftOut),
      },
      body: prepared.pieces,
    }
  }
}
