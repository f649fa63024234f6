import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { KeyExposedError } from '../../src/files/named-file.ts'
import { readTlsFiles, type TlsPaths } from '../../src/service/tls-files.ts'
import { makeCertificate, type TestCertificate } from '../support/certificate.ts'
import { runExecutable } from '../support/executable.ts'
import { noOpenSsl, openSsl } from '../support/openssl.ts'
import { asPlainAccount, giveToPlainAccount, plainAccount } from '../support/plain-account.ts'

const isRoot = process.getuid?.() === 0
const pathsOf = ({ certPath, keyPath }: TestCertificate): TlsPaths => ({ cert: certPath, key: keyPath })

/** A certificate with a key of a kind that Node does not make, by the options of `openssl req -newkey`. */
async function makeOther(t: TestContext, ...newKey: readonly string[]): Promise<TestCertificate> {
  const made = await makeCertificate(t)
  const files = ['-keyout', made.keyPath, '-out', made.certPath, '-subj', '/CN=localhost']
  openSsl(['req', '-x509', '-newkey', ...newKey, '-nodes', ...files])
  const [cert, key] = [await readFile(made.certPath, 'utf8'), await readFile(made.keyPath, 'utf8')]
  return { ...made, cert, key, fingerprint: new X509Certificate(cert).fingerprint256 }
}

/** Runs the executable, which must refuse; returns its exit code and its message after its name. */
async function refusal({ cert, key }: TlsPaths, through: readonly string[] = []) {
  const data = join(dirname(key), 'data')
  const args = ['--port', '0', '--tls-cert', cert, '--tls-key', key, '--data', data]
  const { code, stdout, stderr } = await runExecutable(args, { through })
  assert.equal(stdout, '')
  await assert.rejects(access(data), 'it has made a data folder')
  assert.match(stderr, /^connbook: [^\n]+\n$/)
  return { code, message: stderr.slice('connbook: '.length, -1) }
}

/** A change of one of the files, and the message after its path. */
type Spoil = (made: TestCertificate, t: TestContext) => unknown

const spoilBoth: Record<string, readonly [spoil: (path: string) => unknown, said: string]> = {
  'is missing': [(path) => rm(path), 'there is no such file (ENOENT); name a PEM file'],
  'is a folder': [(path) => rm(path).then(() => mkdir(path)), 'it is a folder; name the file in it'],
  'is a pipe': [
    (path) => rm(path).then(() => execFileSync('mkfifo', [path])),
    'it is not a plain file; put what it holds into a file',
  ],
  'is empty': [(path) => truncate(path), 'it is empty; see whether it was written to the end'],
  'is far too long': [(path) => truncate(path, 2 ** 40), 'it is longer than 1048576 bytes; name a PEM file'],
}

const spoilCertificate: Record<string, readonly [Spoil, said: string]> = {
  'holds no PEM': [
    ({ certPath }) => writeFile(certPath, 'no PEM'),
    "it holds no certificate in PEM form; name the PEM file of the certificate chain, the server's own certificate first",
  ],
  'holds the key': [
    ({ certPath, key }) => writeFile(certPath, key),
    "it holds no certificate in PEM form; name the PEM file of the certificate chain, the server's own certificate first",
  ],
  'is cut off': [
    ({ certPath, cert }) => writeFile(certPath, cert.slice(0, 200)),
    'a certificate in it cannot be understood (ERR_OSSL_PEM_BAD_END_LINE); put a whole copy in its place',
  ],
  'has a chain that is cut off': [
    ({ certPath, cert }) => writeFile(certPath, cert + cert.slice(0, 200)),
    'a certificate in it cannot be understood (ERR_OSSL_PEM_BAD_END_LINE); put a whole copy in its place',
  ],
  'is too weak': [
    async ({ certPath, keyPath }, t) => {
      const weak = await makeOther(t, 'rsa:512')
      await writeFile(certPath, weak.cert)
      await writeFile(keyPath, weak.key)
    },
    'the key or the signature of a certificate in it is too weak for TLS today; get one with an RSA key of 2048 bits, or an EC key, and SHA-256',
  ],
}

const NOT_THE_KEY = (certPath: string) =>
  `the key does not belong to the first certificate of --tls-cert "${certPath}"; give the two that were made for each other`

const spoilKey: Record<string, readonly [Spoil, said: string | ((made: TestCertificate) => string)]> = {
  'holds no PEM': [
    ({ keyPath }) => writeFile(keyPath, 'no PEM'),
    'it holds no private key in PEM form; name the PEM file of the key that the certificate was made with',
  ],
  'holds the certificate': [
    ({ keyPath, cert }) => writeFile(keyPath, cert),
    'it holds no private key in PEM form; name the PEM file of the key that the certificate was made with',
  ],
  'is cut off': [
    ({ keyPath, key }) => writeFile(keyPath, key.slice(0, 100)),
    'the private key in it cannot be understood (ERR_OSSL_UNSUPPORTED); put a whole copy in its place',
  ],
  'belongs to another certificate': [
    async ({ keyPath }, t) => writeFile(keyPath, (await makeCertificate(t)).key),
    ({ certPath }) => NOT_THE_KEY(certPath),
  ],
  'is of another kind than the certificate': [
    async ({ keyPath }, t) => writeFile(keyPath, (await makeOther(t, 'ed25519')).key),
    ({ certPath }) => NOT_THE_KEY(certPath),
  ],
  'is encrypted (PKCS #8)': [
    ({ keyPath }) => encrypt(keyPath, 'pkey'),
    ({ keyPath }) => encryptedSaid(keyPath),
  ],
  'is encrypted (the older form)': [
    ({ keyPath }) => encrypt(keyPath, 'ec'),
    ({ keyPath }) => encryptedSaid(keyPath),
  ],
}

/** `pkey` writes PKCS #8, `ec` the form before it. */
async function encrypt(path: string, command: 'pkey' | 'ec') {
  openSsl([command, '-in', path, '-aes256', '-passout', 'pass:secret', '-out', `${path}.new`])
  await rename(`${path}.new`, path)
}

function encryptedSaid(path: string): string {
  return `its key is encrypted, and nobody is asked for a passphrase; keep it without one: openssl pkey -in '${path}' -out NEW_FILE`
}

describe('certificate and key', { skip: noOpenSsl }, () => {
  it('are read as texts, with the first certificate of the chain', async (t) => {
    const [made, other] = [await makeCertificate(t), await makeCertificate(t)]
    await writeFile(made.certPath, made.cert + other.cert)
    const pair = readTlsFiles(pathsOf(made))
    assert.deepEqual([pair.cert, pair.key], [made.cert + other.cert, made.key])
    assert.equal(pair.certificate.fingerprint256, made.fingerprint)
  })

  it('may be one file', async (t) => {
    const { keyPath, cert, key, fingerprint } = await makeCertificate(t)
    for (const both of [key + cert, cert + key]) {
      await writeFile(keyPath, both)
      const pair = readTlsFiles({ cert: keyPath, key: keyPath })
      assert.equal(pair.certificate.fingerprint256, fingerprint)
    }
  })

  for (const newKey of [['rsa:2048'], ['ed25519'], ['ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1']]) {
    it(`may be created with ${newKey.join(' ')}`, async (t) => {
      const made = await makeOther(t, ...newKey)
      assert.equal(readTlsFiles(pathsOf(made)).certificate.fingerprint256, made.fingerprint)
    })
  }

  it('may be EC in the older form, after its parameters', async (t) => {
    const made = await makeCertificate(t)
    const [older, parameters] = [`${made.keyPath}.older`, 'BggqhkjOPQMBBw==']
    openSsl(['ec', '-in', made.keyPath, '-out', older])
    const text = `-----BEGIN EC PARAMETERS-----\n${parameters}\n-----END EC PARAMETERS-----\n${await readFile(older)}`
    assert.match(text, /BEGIN EC PRIVATE KEY/)
    await writeFile(made.keyPath, text)
    assert.equal(readTlsFiles(pathsOf(made)).certificate.fingerprint256, made.fingerprint)
  })

  for (const [what, [spoil, said]] of Object.entries(spoilBoth)) {
    for (const [flag, which] of [
      ['--tls-cert', 'certPath'],
      ['--tls-key', 'keyPath'],
    ] as const) {
      it(`are refused when ${flag} ${what}`, async (t) => {
        const made = await makeCertificate(t)
        await spoil(made[which])
        const message = `Cannot use ${flag} "${made[which]}": ${said}`
        // A new pipe has the mode that the umask leaves, like a file.
        assert.throws(() => readTlsFiles(pathsOf(made)), { message, code: 'invalid_usage' })
      })
    }
  }

  for (const [what, [spoil, said]] of Object.entries(spoilCertificate)) {
    it(`are refused when the certificate ${what}`, async (t) => {
      const made = await makeCertificate(t)
      await spoil(made, t)
      const message = `Cannot use --tls-cert "${made.certPath}": ${said}`
      assert.throws(() => readTlsFiles(pathsOf(made)), { message, code: 'invalid_usage' })
    })
  }

  for (const [what, [spoil, said]] of Object.entries(spoilKey)) {
    it(`are refused when the key ${what}`, async (t) => {
      const made = await makeCertificate(t)
      await spoil(made, t)
      const reason = typeof said === 'string' ? said : said(made)
      const message = `Cannot use --tls-key "${made.keyPath}": ${reason}`
      assert.throws(() => readTlsFiles(pathsOf(made)), { message, code: 'invalid_usage' })
    })
  }

  it('that cannot be used end in exit code 2 with one line, before a data folder is created', async (t) => {
    const made = await makeCertificate(t)
    await writeFile(made.keyPath, (await makeCertificate(t)).key)
    assert.deepEqual(await refusal(pathsOf(made)), {
      code: 2,
      message: `Cannot use --tls-key "${made.keyPath}": ${NOT_THE_KEY(made.certPath)}`,
    })
  })

  it('that may not be read end in exit code 2 with one line', async (t) => {
    const made = await makeCertificate(t)
    await giveToPlainAccount(dirname(made.keyPath))
    await chmod(made.certPath, 0)
    const said =
      'this account has no permission to read it (EACCES); see the modes on the way to it: namei -l'
    assert.deepEqual(await refusal(pathsOf(made), asPlainAccount), {
      code: 2,
      message: `Cannot use --tls-cert "${made.certPath}": ${said}`,
    })
  })
})

describe('the key', { skip: noOpenSsl || (process.platform === 'win32' && 'Windows has no modes') }, () => {
  for (const mode of [0o600, 0o400, 0o700]) {
    it(`is accepted with mode ${mode.toString(8)}`, async (t) => {
      const made = await makeCertificate(t)
      await chmod(made.keyPath, mode)
      assert.equal(readTlsFiles(pathsOf(made)).key, made.key)
    })
  }

  for (const mode of [0o604, 0o602, 0o601, 0o644, 0o660, 0o620, 0o610, 0o650, 0o666]) {
    it(`is refused with mode ${mode.toString(8)}, and the advised command mends it`, async (t) => {
      const made = await makeCertificate(t)
      await chmod(made.keyPath, mode)
      const command = assertExposed(made, `owner ${process.getuid?.()}, mode 0${mode.toString(8)}`)
      assert.equal(command, `run: chmod 600 '${made.keyPath}'`)
      execFileSync('/bin/sh', ['-c', command.replace('run: ', '')])
      assert.equal(readTlsFiles(pathsOf(made)).key, made.key)
    })
  }

  it('is judged by the target of a link', async (t) => {
    const made = await makeCertificate(t)
    const key = join(dirname(made.keyPath), 'privkey.pem')
    await symlink('key.pem', key)
    const linked = { ...made, keyPath: key }
    assert.equal(readTlsFiles(pathsOf(linked)).key, made.key)
    await chmod(made.keyPath, 0o644)
    assert.equal(assertExposed(linked, `owner ${process.getuid?.()}, mode 0644`), `run: chmod 600 '${key}'`)
  })

  it('open to others ends in exit code 1 with one line, before a data folder is created', async (t) => {
    const made = await makeCertificate(t)
    await chmod(made.keyPath, 0o644)
    assert.deepEqual(await refusal(pathsOf(made)), {
      code: 1,
      message: `Cannot use --tls-key "${made.keyPath}": others can get at it (owner ${process.getuid?.()}, mode 0644); run: chmod 600 '${made.keyPath}'`,
    })
  })

  describe('of another account', { skip: !isRoot && 'only root can give files away' }, () => {
    const group = plainAccount ?? 0

    for (const mode of [0o640, 0o440]) {
      it(`is accepted with mode ${mode.toString(8)} if it belongs to root`, async (t) => {
        const made = await makeCertificate(t)
        await chown(made.keyPath, 0, group)
        await chmod(made.keyPath, mode)
        assert.equal(readTlsFiles(pathsOf(made)).key, made.key)
      })
    }

    it('is refused with mode 640 if it does not belong to root', async (t) => {
      const made = await makeCertificate(t)
      await chown(made.keyPath, group, 0)
      await chmod(made.keyPath, 0o640)
      assert.equal(assertExposed(made, `owner ${group}, mode 0640`), `run: chmod 600 '${made.keyPath}'`)
    })

    it('stays readable for the account that needs it after the advised command', async (t) => {
      const made = await makeCertificate(t)
      await giveToPlainAccount(dirname(made.keyPath))
      for (const owner of [0, 1]) {
        await chown(made.keyPath, owner, 0)
        await chmod(made.keyPath, 0o644)
        const command = `chown root:${group} '${made.keyPath}' && chmod 640 '${made.keyPath}'`
        assert.deepEqual(await refusal(pathsOf(made), asPlainAccount), {
          code: 1,
          message: `Cannot use --tls-key "${made.keyPath}": others can get at it (owner ${owner}, mode 0644); run as root: ${command}`,
        })
        execFileSync('/bin/sh', ['-c', command])
        // The key is accepted now; the missing certificate is refused next.
        const { message } = await refusal(
          { cert: join(dirname(made.keyPath), 'none'), key: made.keyPath },
          asPlainAccount,
        )
        assert.match(message, /--tls-cert .*no such file/)
        assert.equal(
          execFileSync(asPlainAccount[0] ?? '', [...asPlainAccount.slice(1), 'cat', made.keyPath], {
            encoding: 'utf8',
          }),
          made.key,
        )
      }
    })
  })
})

/** Asserts that the key is refused because others can read it; returns the advice. */
function assertExposed(made: TestCertificate, owner: string): string {
  try {
    readTlsFiles(pathsOf(made))
  } catch (error) {
    assert.ok(error instanceof KeyExposedError && !(error instanceof UsageError))
    assert.equal(error.code, 'key_exposed')
    const start = `Cannot use --tls-key "${made.keyPath}": others can get at it (${owner}); `
    assert.equal(error.message.slice(0, start.length), start)
    return error.message.slice(start.length)
  }
  return assert.fail('it was taken')
}
