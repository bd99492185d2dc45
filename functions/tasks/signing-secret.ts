import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { requiredVariable, systemClock } from '../../shared/aws/environment.ts'
import { createTimedCache } from '../../shared/runtime/kernel/system.ts'

/** How long a secret is cached. The new value of a rotated secret is used after at most this time. */
const CACHE_LIFETIME_MS = 300_000

const client = new SecretsManagerClient({})
const secretCache = createTimedCache<string>(CACHE_LIFETIME_MS)

/** Reads the secret that signs a type's calls. Secrets Manager stores it as `<system>/webhook/<name>`. */
export async function signingSecret(name: string): Promise<string> {
  const id = `${requiredVariable('BATON_SYSTEM')}/webhook/${name}`
  return (await secretCache.get(systemClock, name, () => readSecret(id))).value
}

async function readSecret(id: string): Promise<string> {
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: id }))
  if (!SecretString) throw new Error(`the secret ${id} has no text; store its value as text`)
  return SecretString
}
