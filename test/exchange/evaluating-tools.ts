import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Configuration } from '../../src/store/configuration.ts'
import { run, seenByAnsible } from './tools.ts'

const bytesMax = { maxBuffer: 64 * 1024 * 1024 }

/** The interpreter of Debian's packages, which have the modules of Ansible. */
const PYTHON = '/usr/bin/python3'

/** Evaluates all templates in the variables of all hosts, which takes a process for each host with `ansible`. */
const EVALUATE = `
import json, sys
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.manager import VariableManager

loader = DataLoader()
inventory = InventoryManager(loader, sources=[sys.argv[1]])
manager = VariableManager(loader, inventory)
hosts = {}
for host in inventory.get_hosts('all'):
    variables = manager.get_vars(host=host)
    names = [n for n in variables if n.startswith(('ansible_', 'connbook_')) or n in ('inventory_hostname', 'group_names')]
    templar = Templar(loader, variables=variables)
    hosts[host.name] = {name: templar.template(variables[name]) for name in names if name != 'ansible_playbook_python'}
json.dump(hosts, sys.stdout)
`

/** As `askAnsible`, but the values that a task would have. */
export async function askAnsibleTasks(file: string, names: readonly string[]) {
  const env = { PATH: process.env.PATH, HOME: join(file, '..'), LC_ALL: 'C.UTF-8' }
  const { stdout } = await run(PYTHON, ['-c', EVALUATE, file], { env, ...bytesMax })
  // A plain object would not store `__proto__` as a key.
  const hosts = new Map(Object.entries(JSON.parse(stdout) as Record<string, Record<string, unknown>>))
  assert.deepEqual([...hosts.keys()].sort(), names.toSorted())
  return names.map((name) => {
    const variables = hosts.get(name) ?? {}
    assert.equal(variables.inventory_hostname, name)
    return seenByAnsible(variables, variables.group_names as string[])
  })
}

/** The targets that Prometheus finds in a file, with their labels. */
export async function askPrometheus(folder: string, text: string) {
  await writeFile(join(folder, 'targets.json'), text)
  const configuration = 'scrape_configs:\n- job_name: x\n  file_sd_configs:\n  - files: [targets.json]\n'
  await writeFile(join(folder, 'prometheus.yml'), configuration)
  const words = ['check', 'service-discovery', '--timeout=1s', join(folder, 'prometheus.yml'), 'x']
  const { stdout } = await run('promtool', words, bytesMax)
  const targets = JSON.parse(stdout) as { discoveredLabels: Record<string, string> }[]
  return targets.map(({ discoveredLabels: { __address__: address, ...labels } }) => ({
    address,
    labels: Object.fromEntries(
      Object.entries(labels).filter(([name]) => name.startsWith('__meta_connbook_')),
    ),
  }))
}

/** The addresses of names by the resolver of the C library, with a text as /etc/hosts. */
export async function askResolver(folder: string, text: string, names: readonly string[]) {
  const file = join(folder, 'hosts')
  await writeFile(file, text)
  const each = 'for name do getent -s hosts:files ahosts "$name" | head -n 1; done'
  const script = `mount --bind "$0" /etc/hosts && ${each}`
  const words = ['--map-root-user', '--mount', 'sh', '-c', script, file, ...names]
  const { stdout } = await run('unshare', words, bytesMax)
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ', 1)[0])
}

/** What ssh makes of command lines in a shell, and the words that it gets. */
export async function askSshInShell(lines: readonly string[]) {
  const script = lines
    .map(
      (line) => `ssh -G -F none ${line} 2> /dev/null; printf '\\0'; printf '%s\\001' ${line}; printf '\\0'`,
    )
    .join('\n')
  const parts = (await run('sh', ['-c', script], bytesMax)).stdout.split('\0')
  return lines.map((_, i) => {
    const value = (keyword: string) => new RegExp(`^${keyword} ([^\n]*)$`, 'm').exec(parts[2 * i] ?? '')?.[1]
    const words = (parts[2 * i + 1] ?? '').split('\u0001').slice(0, -1)
    return { hostname: value('hostname'), port: Number(value('port')), username: value('user'), words }
  })
}

/** What a program in Python reads of a file. @param expression Makes the rows of the file `f`. */
export async function askPython(file: string, expression: string): Promise<unknown> {
  const script = `import csv, json, sys\nwith open(sys.argv[1], encoding='utf-8', newline='') as f: print(json.dumps(${expression}))`
  return JSON.parse((await run('python3', ['-c', script, file], bytesMax)).stdout)
}

/** The fields of a record in the order of a table. */
export function cellsOf({ name, hostname, port, username }: Configuration): string[] {
  return [name, hostname, String(port), username]
}
