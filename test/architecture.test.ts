import './support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { basename, dirname, join, matchesGlob } from 'node:path'
import { describe, it } from 'node:test'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')

/** What reaches the cluster from above. `cluster/removed.system.test.ts` sees that nothing else needs it. */
const clusterDoors = ['src/commands/used-cluster.ts', 'src/service/cluster-state.ts']

/** Pure modules, which work in a browser, too: they import nothing but each other. */
const openToConsole = [
  ...['error-types', 'errors', 'json', 'json-schema', 'limits', 'text', 'http/scope', 'store/labels'],
  ...['exchange/column-name', 'exchange/hops', 'exchange/kinds', 'exchange/lookup-address', 'exchange/row'],
  ...['exchange/ssh-key-path', 'exchange/ssh-username'],
].map((name) => `src/${name}.ts`)

/** The layers, lowest first: a folder, or single files. */
const floors = [
  [
    'src/error-types.ts',
    'src/errors.ts',
    'src/built.ts',
    'src/limits.ts',
    'src/log.ts',
    'src/log-events.ts',
    'src/json.ts',
    'src/json-schema.ts',
    'src/memory.ts',
    'src/budget.ts',
    'src/network.ts',
    'src/scheduler.ts',
    'src/shell.ts',
    'src/system-account.ts',
    'src/systemd-journal.ts',
    'src/text.ts',
    'src/text-hash.ts',
    'src/timestamp.ts',
    'src/moment.ts',
    'src/turn-clock.ts',
    'src/version.ts',
    'package.json',
  ],
  ['src/metrics/', 'src/fair-queue.ts'],
  ['src/files/'],
  ['src/http/'],
  ['src/journal/'],
  ['src/store/'],
  ['src/storage/'],
  ['src/exchange/'],
  ['src/audit/'],
  ['src/auth/'],
  ['src/state/'],
  ['src/client/'],
  ['src/openapi/'],
  ['src/resources/'],
  ['src/server/'],
  ['src/cluster/'],
  ['src/service/'],
  ['src/manual/'],
  ['src/command-line/'],
  ['src/commands/'],
  ['src/main.ts'],
]

interface Source {
  path: string
  text: string
  /** As written in the import statements. */
  specifiers: string[]
  /** Paths of the imported files of this repository. */
  imports: string[]
}

/** The page for browsers: a program of its own. */
const CONSOLE = 'src/console/'

async function readSources(entry: string): Promise<Source[]> {
  const paths = new Set(await bundledFiles(entry))
  const sources: Source[] = []
  for (const path of paths) {
    const text = await readFile(join(root, path), 'utf8')
    const specifiers = path.endsWith('.ts') ? specifiersOf(text) : []
    const imports = specifiers.filter(isRelative).map((specifier) => join(dirname(path), specifier))
    // The bundler does not see type-only imports.
    for (const imported of imports) paths.add(imported)
    sources.push({ path, text, specifiers, imports })
  }
  return sources
}

async function bundledFiles(entry: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'node',
    metafile: true,
    write: false,
  })
  return Object.keys(metafile.inputs)
}

function specifiersOf(text: string): string[] {
  const found = text.matchAll(
    /^(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)|(?<!['"/])\bimport\s*\(?\s*['"]([^'"]+)|\brequire\s*\(\s*['"]([^'"]+)/gm,
  )
  return [...found].map(([, from, plain, required]) => from ?? plain ?? required ?? '')
}

/** Leaves out type-only imports, which load nothing. */
function valueSpecifiersOf(text: string): string[] {
  return specifiersOf(text.replace(/^(?:import|export) type\b[^'"`;]*?from\s*['"][^'"]+['"]/gm, ''))
}

/** The modules below `test`, with the modules that they load. */
async function readTestModules(): Promise<Map<string, Source>> {
  const names = await readdir(join(root, 'test'), { recursive: true })
  const isOurs = (name: string) => name.endsWith('.ts') && !name.includes('node_modules')
  const paths = names.filter(isOurs).map((name) => join('test', name))
  const read = async (path: string): Promise<[string, Source]> => {
    const text = await readFile(join(root, path), 'utf8')
    const specifiers = valueSpecifiersOf(text)
    const imports = specifiers.filter(isRelative).map((specifier) => join(dirname(path), specifier))
    return [path, { path, text, specifiers, imports }]
  }
  return new Map(await Promise.all(paths.map(read)))
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.')
}

function floorOf(path: string): number {
  return floors.findIndex((rooms) =>
    rooms.some((room) => path === room || (room.endsWith('/') && path.startsWith(room))),
  )
}

describe('the source tree', async () => {
  const sources = await readSources('src/main.ts')
  const console = await readSources(`${CONSOLE}main.ts`)
  const modules = sources.filter(({ path }) => path.endsWith('.ts'))

  /** Asserts that `of` finds nothing in any file. */
  const assertNone = (of: (source: Source) => unknown[]) => {
    assert.deepEqual(
      modules.flatMap((source) => of(source).map((found) => `${source.path}: ${found}`)),
      [],
    )
  }

  it('has no file that is never imported', async () => {
    const files = await readdir(join(root, 'src'), { recursive: true })
    const written = files.filter((name) => name.endsWith('.ts')).map((name) => join('src', name))
    const loaded = [...modules, ...console.filter(({ path }) => path.endsWith('.ts'))]
    assert.deepEqual([...new Set(loaded.map(({ path }) => path))].sort(), written.sort())
  })

  it('keeps the console apart: nothing imports it, and of the rest it imports what needs no Node', () => {
    assertNone(({ imports }) => imports.filter((imported) => imported.startsWith(CONSOLE)))
    const isOpen = (path: string) => path.startsWith(CONSOLE) || openToConsole.includes(path)
    const outside = console.flatMap(({ path, specifiers }) =>
      specifiers
        .filter((specifier) => !isRelative(specifier) || !isOpen(join(dirname(path), specifier)))
        .map((specifier) => `${path}: ${specifier}`),
    )
    assert.deepEqual(outside, [])
  })

  it('has every file in a layer', () => {
    assertNone(({ path }) => (floorOf(path) === -1 ? ['is on no floor'] : []))
  })

  it('imports only from lower layers or the same folder', () => {
    assertNone(({ path, imports }) => imports.filter((imported) => floorOf(imported) > floorOf(path)))
  })

  it('imports the file storage through one module only', () => {
    const place = 'src/storage/file/'
    const isInside = (path: string) => path.startsWith(place) && path !== `${place}file-storage.ts`
    assertNone(({ path, imports }) => (path.startsWith(place) ? [] : imports.filter(isInside)))
  })

  it('imports the cluster through one module of commands/ and one of service/', () => {
    const importers = modules.filter(
      ({ path, imports }) =>
        !path.startsWith('src/cluster/') && imports.some((imported) => imported.startsWith('src/cluster/')),
    )
    assert.deepEqual(importers.map(({ path }) => path).sort(), clusterDoors)
  })

  it('has no import cycle', () => {
    const byPath = new Map(sources.map((source) => [source.path, source]))
    const finished = new Set<string>()
    const visit = (path: string, way: readonly string[]): void => {
      assert.ok(!way.includes(path), [...way, path].join(' -> '))
      if (finished.has(path)) return
      for (const imported of byPath.get(path)?.imports ?? []) visit(imported, [...way, path])
      finished.add(path)
    }
    for (const { path } of modules) visit(path, [])
  })

  it('depends on nothing but Node', () => {
    const builtIns = new Set(builtinModules.map((name) => `node:${name.replace(/^node:/, '')}`))
    assertNone(({ specifiers }) =>
      specifiers.filter((specifier) => !isRelative(specifier) && !builtIns.has(specifier)),
    )
  })

  it('imports by full file name, and package.json in one place only', () => {
    assertNone(({ path, specifiers }) => {
      const isFull = (specifier: string) =>
        specifier.endsWith('.ts') || (path === 'src/version.ts' && specifier === '../package.json')
      return specifiers.filter((specifier) => isRelative(specifier) && !isFull(specifier))
    })
  })

  it('has the files that test/README.md names, one or more for each step of a request and of a change', async () => {
    const text = await readFile(join(root, 'test/README.md'), 'utf8')
    const namedIn = (part: string) => [...part.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, path]) => path)
    const there = new Set(modules.map(({ path }) => path))
    assert.deepEqual(
      namedIn(text).filter((path = '') => !there.has(path)),
      [],
    )
    const steps = text.match(/^\d+\. .*/gm) ?? []
    assert.equal(steps.length, 20)
    assert.deepEqual(
      steps.filter((step) => namedIn(step).length === 0),
      [],
    )
  })

  it('reads the environment and creates servers in one place each', () => {
    const only = (word: string, place: string) =>
      assertNone(({ path, text }) => (path !== place && text.includes(word) ? [word] : []))
    only('process.env', 'src/main.ts')
    only('createServer', 'src/server/http-server.ts')
  })

  it('leaves the turns of the event loop to the scheduler', () => {
    // The others wait for a turn at a single place, of which there is one in the process, however many callers there are.
    const others = [
      'src/scheduler.ts',
      'src/turn-clock.ts',
      'src/server/listener.ts',
      'src/server/request-order.ts',
      'src/journal/frame.ts',
      'src/journal/group-commit.ts',
      'src/store/writer.ts',
      'src/cluster/gathering.ts',
    ]
    assertNone(({ path, text }) =>
      !others.includes(path) && text.includes('setImmediate') ? ['setImmediate'] : [],
    )
  })
})

describe('the tests', async () => {
  const modules = await readTestModules()
  const files = [...modules.values()].filter(({ path }) => path.endsWith('.test.ts'))

  // What only the system and faults tiers may use: other processes, and so the executable, Debian's packages and browsers.
  const outside = ['node:child_process', 'playwright-core']
  const usesOutside = (path: string, seen = new Set<string>()): boolean => {
    if (seen.has(path)) return false
    seen.add(path)
    const { specifiers = [], imports = [] } = modules.get(path) ?? {}
    return (
      outside.some((name) => specifiers.includes(name)) || imports.some((each) => usesOutside(each, seen))
    )
  }
  const paths = files.map(({ path }) => path)
  const isSystem = (path: string) => path.endsWith('.system.test.ts')
  const isFaults = (path: string) => path.endsWith('.faults.test.ts')

  it('are named x.system.test.ts or x.faults.test.ts if they start other processes', () => {
    const misnamed = paths.filter((path) => !isSystem(path) && !isFaults(path) && usesOutside(path))
    assert.deepEqual(misnamed, [])
  })

  it('are not named x.system.test.ts if they start none', () => {
    assert.deepEqual(
      paths.filter((path) => isSystem(path) && !usesOutside(path)),
      [],
    )
  })

  it('have no other tier in their name', () => {
    const known = ['', '.system', '.faults', '.properties', '.properties.system']
    const rest = (path: string) => basename(path, '.test.ts').replace(/^[^.]*/, '')
    assert.deepEqual(
      paths.filter((path) => !known.includes(rest(path))),
      [],
    )
  })

  it('try random input with the seed of the run', async () => {
    for (const path of paths) {
      const text = await readFile(join(root, path), 'utf8')
      assert.ok(!/\bfc\.assert\(/.test(text) || /\bseed\b/.test(text), path)
    }
  })

  it('run by the names of their files alone', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const globOf = (tier: string) => /"(test\/[^"]+)"$/.exec(scripts[`test:${tier}`])?.[1] ?? ''
    const tiersOf = (path: string) =>
      ['quick', 'system', 'faults'].filter((tier) => matchesGlob(path, globOf(tier)))
    const named = (path: string) => (isSystem(path) ? 'system' : isFaults(path) ? 'faults' : 'quick')
    assert.deepEqual(
      paths.filter((path) => tiersOf(path).join() !== named(path)),
      [],
    )
  })

  it('check the version of Node before anything else', () => {
    const late = files.filter(({ text, imports }) => {
      return !text.startsWith("import '.") || imports[0] !== 'test/support/node-version.ts'
    })
    assert.deepEqual(
      late.map(({ path }) => path),
      [],
    )
  })
})
