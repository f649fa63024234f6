import { defineCommand } from '../command-line/command.ts'
import { bookExitCodes } from '../command-line/exit-codes.ts'
import { UsageError } from '../errors.ts'
import { isObject } from '../json.ts'
import { NAME_CHARACTERS_MAX } from '../limits.ts'
import { checkText } from '../text.ts'
import { checkExportFilters, exportedQuery } from './exported-query.ts'
import { clientFlags, connect } from './remote/connect.ts'
import { filterFlags } from './remote/record-fields.ts'
import { openServedExport } from './served-export.ts'

/**
 * Speaks to Ansible as an inventory script
 * (https://docs.ansible.com/ansible/latest/dev_guide/developing_inventory.html).
 */
export const inventoryCommand = defineCommand({
  name: 'inventory',
  summary: 'answer Ansible as an inventory script does',
  examples: [
    ['connbook inventory --list', 'all hosts, and their groups'],
    ['connbook inventory --list --label env=prod', 'filters as of ls'],
    ['connbook inventory --host web1', 'the variables of one'],
  ],
  notes: [
    'It finds its records as export does. Records that Ansible cannot have are left out, and named on standard error.',
  ],
  flags: ['list', 'inventoryHost', 'where', ...filterFlags, ...clientFlags],
  exitCodes: { ...bookExitCodes, 0: 'the inventory is complete' },
  async run({ options, given }, context) {
    const { list, inventoryHost: host } = options
    if (list === (host !== undefined)) throw new UsageError('Give --list, or --host NAME')
    // No record can have such a name.
    if (host !== undefined && checkText(host, NAME_CHARACTERS_MAX) !== undefined) return context.print('{}\n')
    const filters = exportedQuery(options)
    const named = host === undefined ? [] : [`name=${encodeURIComponent(host)}`]
    const query = [filters, ...named].filter((text) => text !== '').join('&')
    const wanted = { format: 'ansible-json', skip: true, query } as const
    checkExportFilters(query)
    const client = await connect({ options, given }, context, 'inventory')
    const { remarks, write } = await openServedExport(client, wanted)
    context.screen.write(remarks)
    if (host === undefined) return write(context.print)
    let text = ''
    await write(async (piece) => {
      text += piece
    })
    await context.print(`${JSON.stringify(variablesIn(JSON.parse(text), host))}\n`)
  },
})

/** The variables of a host; none if the inventory has no such host. */
function variablesIn(inventory: unknown, host: string): unknown {
  const meta = isObject(inventory) ? inventory._meta : undefined
  const hosts = isObject(meta) ? meta.hostvars : undefined
  return isObject(hosts) && Object.hasOwn(hosts, host) ? hosts[host] : {}
}
