import { type Backend, bodyOf, errorAnswer, jsonAnswer } from '../gateway/call.ts'

/**
 * Answers Secrets Manager's GetSecretValue from environment variables. `BATON_SECRET_WEBHOOK_KEY` is the value of the secret
 * `webhook/key`.
 */
export function createSecrets(environment: Readonly<Record<string, string | undefined>>): Backend {
  return async call => {
    if (call.operation !== 'GetSecretValue') {
      return errorAnswer(400, 'InvalidRequestException', `${call.operation} is not supported locally`)
    }
    const id = String(bodyOf(call).SecretId)
    const name = id.slice(id.lastIndexOf(':') + 1)
    const variable = `BATON_SECRET_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
    const value = environment[variable]
    if (value === undefined) {
      return errorAnswer(
        400,
        'ResourceNotFoundException',
        `No secret ${name}: set ${variable} to give it a value`,
      )
    }
    return jsonAnswer(200, { ARN: id, Name: name, SecretString: value, VersionId: 'local' })
  }
}
