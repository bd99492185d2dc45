import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { vi } from 'vitest'
import { checkSignature, type FindCredentials } from '../../../local/http/caller.ts'
import { aFolder } from '../a-folder.ts'
import type { TestApi } from '../http/an-api.ts'

export const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
export const TEMPORARY = {
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'secret',
  sessionToken: 'IQoJ//+token==',
}
export const known: FindCredentials = id => [KEYS, TEMPORARY].find(({ accessKeyId }) => accessKeyId === id)

/** An API in memory behind a server that demands signatures as API Gateway does. */
export type SignedApi = {
  readonly url: string
  /** The API that answers. A test sets a new one. */
  api: TestApi | undefined
  /** The signers of the calls that the API has got. */
  readonly signers: string[]
  /** Refuses every call with 403, with this header and this sentence. */
  refusal: { readonly type?: string; readonly message: string } | undefined
  stop(): void
}

export async function aSignedApi(): Promise<SignedApi> {
  const signed: Omit<SignedApi, 'url' | 'stop'> = { api: undefined, signers: [], refusal: undefined }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const signature = checkSignature(request, body, known, Date.now())
    const { type, message } = signed.refusal ?? { message: 'Forbidden' }
    const headers = { 'content-type': 'application/json', ...(type && { 'x-amzn-errortype': type }) }
    if (signature.kind !== 'valid' || signed.refusal)
      return void response.writeHead(403, headers).end(JSON.stringify({ message }))
    signed.signers.push(signature.accessKeyId)
    const { method = 'GET', url = '/' } = request
    const asked = new Request(`http://api${url}`, {
      method,
      headers: { 'content-type': request.headers['content-type'] ?? 'text/plain' },
      ...(body.length > 0 && { body }),
    })
    const answer = await signed.api?.app.request(asked)
    response.writeHead(answer?.status ?? 503, Object.fromEntries(answer?.headers ?? []))
    response.end(await answer?.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return Object.assign(signed, { url, stop })
}

/** Sets the variables by which the user of a test is found, and a file with profiles. `vi.unstubAllEnvs` removes them. */
export function stubAwsUser(): void {
  const folder = aFolder()
  const config = join(folder, 'config')
  writeFileSync(
    config,
    `[profile live]\nregion = us-east-1\naws_access_key_id = ${TEMPORARY.accessKeyId}
aws_secret_access_key = ${TEMPORARY.secretAccessKey}\naws_session_token = ${TEMPORARY.sessionToken}
[profile nowhere]\naws_access_key_id = a\naws_secret_access_key = b\n`,
  )
  const environment = {
    AWS_CONFIG_FILE: config,
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PROFILE: undefined,
    AWS_DEFAULT_REGION: undefined,
    AWS_SESSION_TOKEN: undefined,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
  }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
}
