import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { required } from '../../shared/aws/environment.ts'

/** A rotated secret is used after at most this time. */
const LIFETIME_MS = 300_000

const secrets = new SecretsManagerClient({})
const known = new Map<string, { until: number; value: Promise<string> }>()

/** The secret that signs a type's calls, from Secrets Manager under `<system>/webhook/<name>`. */
export function signingSecret(name: string): Promise<string> {
  const cached = known.get(name)
  if (cached && cached.until > Date.now()) return cached.value
  const value = readSecret(`${required('BATON_SYSTEM')}/webhook/${name}`)
  known.set(name, { until: Date.now() + LIFETIME_MS, value })
  value.catch(() => known.delete(name))
  return value
}

async function readSecret(id: string): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }))
  if (!SecretString) throw new Error(`secret ${id} holds no text`)
  return SecretString
}
