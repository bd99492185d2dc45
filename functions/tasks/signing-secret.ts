import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { requiredVariable } from '../../shared/aws/environment.ts'
import { systemClock } from '../../shared/aws/machine.ts'
import { createTimedCache } from '../../shared/runtime/kernel/timed-cache.ts'

/** A rotated secret is used after at most this time. */
const LIFETIME_MS = 300_000

const secrets = new SecretsManagerClient({})
const known = createTimedCache<string>(LIFETIME_MS)

/** The secret that signs a type's calls, from Secrets Manager under `<system>/webhook/<name>`. */
export async function signingSecret(name: string): Promise<string> {
  const id = `${requiredVariable('BATON_SYSTEM')}/webhook/${name}`
  return (await known.get(systemClock, name, () => readSecret(id))).value
}

async function readSecret(id: string): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }))
  if (!SecretString) throw new Error(`secret ${id} holds no text`)
  return SecretString
}
