import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import { missingEtcd } from './etcd.ts'

const run = promisify(execFile)

/** The suite of Debian that has etcd 3.5. */
const SUITE = 'trixie'
const SERIES = '3.5'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** An etcd to run tests with. */
export interface EtcdVersion {
  readonly name: string
  /** Why it is not there, for the `skip` of a test, or false. */
  readonly skip: string | false
  /** Commands. */
  readonly etcd: string
  readonly etcdctl: string
}

/** That of this system. */
export const systemEtcd: EtcdVersion = {
  name: 'etcd',
  skip: missingEtcd,
  etcd: 'etcd',
  etcdctl: 'etcdctl',
}

/** The etcd of this system and a newer one. */
export async function etcdVersions(t: Lifetime): Promise<EtcdVersion[]> {
  return [systemEtcd, await etcd35(t)]
}

/**
 * Fetches etcd 3.5 from Debian by apt, with a list of sources and a state of its own: nothing is installed, and it is gone
 * when the suite ends.
 */
export async function etcd35(t: Lifetime): Promise<EtcdVersion> {
  const name = `etcd ${SERIES} of Debian ${SUITE}`
  const none = (reason: string): EtcdVersion => ({ name, skip: reason, etcd: '', etcdctl: '' })
  try {
    const bin = join(await unpack(await temporaryFolder(t)), 'usr/bin')
    const [etcd, etcdctl] = [join(bin, 'etcd'), join(bin, 'etcdctl')]
    const { stdout } = await run(etcd, ['--version'])
    if (!stdout.includes(`etcd Version: ${SERIES}.`)) return none(`Debian ${SUITE} has ${stdout}`)
    return { name, skip: false, etcd, etcdctl }
  } catch (error) {
    return none(`apt gives no ${name}: ${error instanceof Error ? error.message : error}`)
  }
}

/** @returns The folder that stands for the root of the packages. */
async function unpack(folder: string): Promise<string> {
  const path = (name: string) => join(folder, name)
  await writeFile(path('sources.list'), `deb [signed-by=${KEYRING}] ${await mirror()} ${SUITE} main\n`)
  for (const name of ['lists/partial', 'cache/archives/partial', 'packages', 'root'])
    await mkdir(path(name), { recursive: true })
  await writeFile(path('status'), '')
  const settings = {
    'Dir::Etc::sourcelist': path('sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': folder,
    'Dir::State::lists': path('lists'),
    'Dir::State::status': path('status'),
    'Dir::Cache': path('cache'),
    // The folder is private: nobody else, apt's own user included, may write there.
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";`)
  // What the system does after each update is about its own lists.
  const hooks = ['Pre-Invoke', 'Post-Invoke', 'Post-Invoke-Success'].map(
    (hook) => `#clear APT::Update::${hook};`,
  )
  await writeFile(path('apt.conf'), [...hooks, ...lines, ''].join('\n'))
  const apt = (...args: string[]) =>
    run('apt-get', ['--quiet', '--config-file', path('apt.conf'), ...args], {
      cwd: path('packages'),
      env: { ...process.env, TMPDIR: folder },
      maxBuffer: 1 << 24,
    })
  await apt('update')
  await apt('download', 'etcd-server', 'etcd-client')
  const { stdout } = await run('find', [path('packages'), '-name', '*.deb'])
  const debs = stdout.trim().split('\n')
  for (const deb of debs) await run('dpkg-deb', ['--extract', deb, path('root')])
  return path('root')
}

/** Where this system gets the packages of Debian from. */
async function mirror(): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(ORIGIN) $(COMPONENT) $(REPO_URI)'])
  const found = stdout.split('\n').find((line) => /^Debian main .*\/debian\/?$/.test(line))
  if (found === undefined) throw new Error('this system has no packages of Debian')
  return found.split(' ')[2] ?? ''
}
