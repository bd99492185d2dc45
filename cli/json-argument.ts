import { BatonError, messageOf } from '../shared/core/errors.ts'
import type { Json } from '../shared/core/json.ts'

/**
 * Reads an argument that is JSON, or from the input when it is `-`.
 *
 * @throws BatonError `invalid` that names `what` it is.
 */
export async function jsonArgument(
  text: string,
  what: string,
  input: AsyncIterable<Uint8Array | string>,
): Promise<Json> {
  const json = text === '-' ? await allOf(input) : text
  try {
    return JSON.parse(json) as Json
  } catch (cause) {
    throw new BatonError('invalid', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

async function allOf(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of input)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
