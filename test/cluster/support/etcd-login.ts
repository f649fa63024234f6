import { join } from 'node:path'
import { openSsl } from '../../support/openssl.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import type { EtcdCluster } from './etcd.ts'
import { type EtcdClient, EtcdRefusal, rangeOf } from './etcd-client.ts'

/** The user that may do everything; etcd wants one before it turns authentication on. */
export const rootUser = { user: 'root', password: 'root of all' }

/**
 * Turns authentication on, with `rootUser` and a user who may read and write below a prefix, and nothing else.
 *
 * @param client Of a cluster without authentication; afterwards it may do nothing.
 */
export async function requireLogin(
  client: EtcdClient,
  { user, password, prefix }: { user: string; password: string; prefix: string },
): Promise<void> {
  const role = `role-of-${user}`
  const perm = { permType: 'READWRITE', ...rangeOf(prefix) }
  await client.post('/v3/auth/role/add', { name: 'root' })
  await client.post('/v3/auth/user/add', { name: rootUser.user, password: rootUser.password })
  await client.post('/v3/auth/user/grant', { user: rootUser.user, role: 'root' })
  await client.post('/v3/auth/role/add', { name: role })
  await client.post('/v3/auth/role/grant', { name: role, perm })
  await client.post('/v3/auth/user/add', { name: user, password })
  await client.post('/v3/auth/user/grant', { user, role })
  await client.post('/v3/auth/enable', {})
}

/** The token of a login; it goes bare into `authorization`. */
export async function logInToEtcd(
  client: EtcdClient,
  { user, password }: { user: string; password: string },
): Promise<string> {
  return String((await client.post('/v3/auth/authenticate', { name: user, password })).token)
}

/** Uses a cluster with a token of a user; again, with another one, if that has expired before etcd got it. */
export async function asUser<Result>(
  cluster: EtcdCluster,
  user: { user: string; password: string },
  use: (client: EtcdClient) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const token = await logInToEtcd(cluster.client(), user)
    try {
      return await use(cluster.client(undefined, token))
    } catch (error) {
      if (!(error instanceof EtcdRefusal) || error.status !== 401) throw error
    }
  }
}

/** Arguments of members whose tokens expire after some seconds; they are signed, so each member knows those of others. */
export async function expiringTokens(t: Lifetime, seconds: number): Promise<string[]> {
  const folder = await temporaryFolder(t)
  const [privateKey, publicKey] = [join(folder, 'token.key'), join(folder, 'token.pem')]
  openSsl(['genrsa', '-out', privateKey, '2048'])
  openSsl(['rsa', '-in', privateKey, '-pubout', '-out', publicKey])
  return ['--auth-token', `jwt,pub-key=${publicKey},priv-key=${privateKey},sign-method=RS256,ttl=${seconds}s`]
}
