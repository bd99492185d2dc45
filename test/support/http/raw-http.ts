import { connect } from 'node:net'

/** A server's answer, read as one answer of HTTP/1.1. */
export type RawAnswer = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Writes text to a socket unchanged, and reads until the server closes the connection. A test can thus send what no client library
 * sends. The function adds `Connection: close` to the head.
 */
export function sendRaw(
  port: number,
  head: readonly string[],
  body: string | Buffer = '',
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(answerIn(Buffer.concat(chunks).toString('utf8'))))
    socket.write(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`)
    socket.write(body)
  })
}

function answerIn(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = lines.map(line => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(headers),
    body: rest.join('\r\n\r\n'),
  }
}
