import { request } from 'node:http'
import { connect } from 'node:net'
import { CustomResource, Duration } from 'aws-cdk-lib'
import { CfnApi, CfnIntegration, CfnRoute, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { EventBus } from 'aws-cdk-lib/aws-events'
import { CfnBucket } from 'aws-cdk-lib/aws-s3'
import { expect, it } from 'vitest'
import { type Call, jsonAnswer } from '../../../local/gateway/call.ts'
import { sendRaw } from '../../support/http/raw-http.ts'
import { aTinyCloud, fixtureFunction, linesOf } from '../tiny-cloud.ts'

const logged: string[] = []
const cloud = aTinyCloud(
  stack => {
    const echo = fixtureFunction(stack, 'Echo', 'http-echo', { timeout: Duration.seconds(2) })
    const api = new CfnApi(stack, 'Api', { name: 'tiny', protocolType: 'HTTP' })
    const integration = new CfnIntegration(stack, 'Integration', {
      apiId: api.ref,
      integrationType: 'AWS_PROXY',
      integrationUri: echo.functionArn,
      payloadFormatVersion: '2.0',
    })
    for (const routeKey of ['GET /items/{id}', 'GET /items/mine', 'ANY /files/{path+}', 'POST /items']) {
      new CfnRoute(stack, `Route${routeKey.replace(/\W/g, '')}`, {
        apiId: api.ref,
        routeKey,
        target: `integrations/${integration.ref}`,
      })
    }
    const gone = new CfnIntegration(stack, 'Gone', {
      apiId: api.ref,
      integrationType: 'AWS_PROXY',
      integrationUri: `${echo.functionArn}-gone`,
      payloadFormatVersion: '2.0',
    })
    const target = `integrations/${gone.ref}`
    new CfnRoute(stack, 'RouteGone', { apiId: api.ref, routeKey: 'GET /gone', target })
    new EventBus(stack, 'Bus')
    new CfnStage(stack, 'Stage', { apiId: api.ref, stageName: '$default', autoDeploy: true })

    const registrar = fixtureFunction(stack, 'Registrar', 'registrar')
    const thing = new CustomResource(stack, 'Thing', {
      serviceToken: registrar.functionArn,
      resourceType: 'Custom::Thing',
      properties: { name: 'one', limit: 5, on: true },
    })
    fixtureFunction(stack, 'Reader', 'writer', { environment: { TOKEN: thing.getAttString('token') } })
    new CfnBucket(stack, 'Unknown')
  },
  { log: ({ line }) => logged.push(line), environment: { EXTRA: 'given' } },
)

const LAMBDA_CALL =
  'AWS4-HMAC-SHA256 Credential=tester/20261122/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0'

const ask = (path: string, init: RequestInit = {}) => fetch(cloud.apiUrl + path, init)

it('a request becomes an event of payload format 2.0', async () => {
  const answer = await ask('/items/a%2Fb%20c?x=1&x=2&y=%C3%A9', {
    headers: { cookie: 'one=1; two=2', 'x-custom': 'yes' },
  })

  const event = await answer.json()
  expect(event).toMatchObject({
    version: '2.0',
    routeKey: 'GET /items/{id}',
    rawPath: '/items/a/b c',
    rawQueryString: 'x=1&x=2&y=%C3%A9',
    queryStringParameters: { x: '1,2', y: 'é' },
    pathParameters: { id: 'a/b c' },
    cookies: ['one=1', 'two=2'],
    headers: { 'x-custom': 'yes' },
    isBase64Encoded: false,
    requestContext: {
      http: { method: 'GET', path: '/items/a/b c', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1' },
      stage: '$default',
      routeKey: 'GET /items/{id}',
      timeEpoch: expect.any(Number),
      time: expect.stringMatching(/^\d{2}\/\w{3}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/),
    },
  })
  expect(event).not.toHaveProperty('body')
})

it('the answer carries status, headers and cookies', async () => {
  const answer = await ask('/items/x')

  expect(answer.status).toBe(201)
  expect(answer.headers.get('x-answer')).toBe('yes')
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
})

it('the more specific route wins, and greedy parameters take the rest of the path', async () => {
  expect(await (await ask('/items/mine')).json()).toMatchObject({ routeKey: 'GET /items/mine' })
  expect(await (await ask('/files/a/b/c.txt', { method: 'DELETE' })).json()).toMatchObject({
    routeKey: 'ANY /files/{path+}',
    pathParameters: { path: 'a/b/c.txt' },
    requestContext: { http: { method: 'DELETE' } },
  })
})

it('a function receives text bodies as text, and other bodies in base64', async () => {
  const post = async (type: string, body: string | Uint8Array) =>
    (await ask('/items', { method: 'POST', headers: { 'content-type': type }, body })).json()

  expect(await post('application/json', '{"ü":1}')).toMatchObject({ body: '{"ü":1}', isBase64Encoded: false })
  const bytes = new Uint8Array([0, 255, 1])
  expect(await post('application/octet-stream', bytes)).toMatchObject({ body: 'AP8B', isBase64Encoded: true })
})

it('answers in base64 are sent as bytes, answers without a status code as JSON', async () => {
  const binary = await ask('/items/x?mode=binary')
  expect(binary.headers.get('content-type')).toBe('image/png')
  expect([...new Uint8Array(await binary.arrayBuffer())]).toEqual([0, 1, 2])

  const plain = await ask('/items/x?mode=plain')
  expect([plain.status, await plain.json()]).toEqual([200, { plain: true }])
})

it('unknown routes are 404, failing and overdue functions 500, and bodies that are too long 413', async () => {
  const nowhere = await ask('/nowhere')
  expect(await nowhere.json()).toMatchObject({ status: 404, message: 'Not Found' })
  expect(nowhere.headers.get('content-type')).toBe('application/problem+json')
  expect((await ask('/items/x', { method: 'PUT' })).status).toBe(404)
  const failed = await ask('/items/x?mode=throw')
  expect(await failed.json()).toMatchObject({ status: 500, message: 'Internal Server Error' })
  expect((await ask('/items/x?ms=5000')).status).toBe(500)
  const long = await ask('/items', { method: 'POST', body: 'x'.repeat(10 * 1024 * 1024 + 1) })
  expect([long.status, await long.json()]).toMatchObject([413, { message: 'Request Entity Too Large' }])
})

it('a body whose event is too large for Lambda is 413; each quote in it counts twice, as escaped text', async () => {
  const post = async (body: string) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await ask('/items?mode=length', { method: 'POST', headers, body })
    return answer.status
  }

  expect(await post('x'.repeat(6_280_000))).toBe(200)
  expect(await post('x'.repeat(6_291_456))).toBe(413)
  expect(await post('"'.repeat(3_140_000))).toBe(200)
  expect(await post('"'.repeat(3_145_728))).toBe(413)
})

it('an answer that is too large as escaped text counts as a failure of the function, and is 500', async () => {
  const { find } = cloud.functions
  const fits = await ask('/items/x?mode=large&bytes=3145000')
  const exceeds = await ask('/items/x?mode=large&bytes=3146000')
  const invoked = await find('Echo').invoke({ queryStringParameters: { mode: 'large', bytes: '3146000' } })

  expect(fits.status).toBe(200)
  expect((await fits.text()).length).toBe(3_145_000)
  expect([exceeds.status, await exceeds.json()]).toMatchObject([500, { message: 'Internal Server Error' }])
  expect(invoked).toMatchObject({ ok: false, error: { errorType: 'Function.ResponseSizeTooLarge' } })
  expect(find('Echo').logs.at(-1)).toBe(
    'Function.ResponseSizeTooLarge: Response payload size exceeded maximum allowed payload size (6291556 bytes).',
  )
})

it("Lambda's Invoke takes events below 6 MB, or below 1 MB if it does not wait for the answer", async () => {
  const invoke = async (bytes: number, type: string) => {
    const { name } = cloud.functions.find('Echo')
    const answer = await fetch(`${cloud.endpoint}/2015-03-31/functions/${name}/invocations`, {
      method: 'POST',
      headers: {
        authorization: LAMBDA_CALL,
        'x-amz-security-token': cloud.clientOptions.credentials.sessionToken,
        'x-amz-invocation-type': type,
      },
      body: JSON.stringify({ queryStringParameters: { mode: 'plain' }, text: 'x'.repeat(bytes) }),
    })
    return answer.status
  }

  expect(await invoke(6_200_000, 'RequestResponse')).toBe(200)
  expect(await invoke(6_291_456, 'RequestResponse')).toBe(413)
  expect(await invoke(900_000, 'Event')).toBe(202)
  expect(await invoke(1_048_576, 'Event')).toBe(413)
})

it.each([
  ['/files/a%23b', '/files/a#b'],
  ['/files/c%5Cd', '/files/c\\d'],
  ['/files/x%2541', '/files/x%41'],
  ['/files/e%2F..%2Ff', '/files/e/../f'],
  ['/files/g%3Fh%3D1', '/files/g'],
  ['/files/%E6%97%A5%E6%9C%AC%20x', '/files/日本 x'],
  ['/files/a+b', '/files/a+b'],
  ['/files/%FF', '/files/%FF'],
])('the path %s arrives as %j, decoded once and cut at a decoded question mark', async (path, rawPath) => {
  const event = await (await ask(`${path}?q=%20`)).json()

  expect(event).toMatchObject({
    rawPath,
    rawQueryString: 'q=%20',
    requestContext: { http: { path: rawPath } },
  })
})

it('a custom resource is created before the cloud is up, with its properties as strings', () => {
  expect(linesOf(cloud, 'Registrar')).toMatchObject([
    {
      RequestType: 'Create',
      ResourceType: 'Custom::Thing',
      LogicalResourceId: 'Thing',
      ResourceProperties: { name: 'one', limit: '5', on: 'true' },
    },
  ])
  expect(cloud.resource('Custom::Thing').physicalId).toBe('thing-Thing')
})

it("a function's environment has the template's variables, the endpoints for the SDK, and the variables of the options", async () => {
  const result = await cloud.functions.find('Reader').invoke({})

  expect(result).toMatchObject({
    ok: true,
    payload: {
      environment: {
        TOKEN: 'token-of-one',
        EXTRA: 'given',
        AWS_REGION: 'us-east-1',
        AWS_LAMBDA_FUNCTION_NAME: expect.stringContaining('Reader'),
        AWS_ENDPOINT_URL_DYNAMODB: cloud.endpoint,
        AWS_ENDPOINT_URL_SCHEDULER: cloud.endpoint,
      },
      trace: expect.stringMatching(/^Root=1-/),
    },
  })
})

it('a resource that the local cloud does not know is reported', () => {
  expect(cloud.unsupported.some(resource => resource.endsWith('(AWS::S3::Bucket)'))).toBe(true)
  expect(logged.join('\n')).toContain('NOT SUPPORTED locally')
})

it('the path is matched, and the function receives it, as the client wrote it', async () => {
  const raw = await new Promise<string>((resolve, reject) => {
    const outgoing = request(`${cloud.apiUrl}/files/a/../b//c`, { path: '/files/a/../b//c' }, incoming => {
      incoming.setEncoding('utf8').on('data', resolve)
    })
    outgoing.on('error', reject).end()
  })

  expect(JSON.parse(raw)).toMatchObject({
    rawPath: '/files/a/../b//c',
    pathParameters: { path: 'a/../b//c' },
  })
})

it('what cannot be read as a request is answered in the form of API Gateway', async () => {
  const port = Number(new URL(cloud.apiUrl).port)

  const tooLong = await sendRaw(port, [`GET /items/${'a'.repeat(20_000)} HTTP/1.1`, 'Host: 127.0.0.1'])
  const malformed = await sendRaw(port, ['GET /items/a HTTP/1.1', 'no header'])

  for (const [answer, status, message] of [
    [tooLong, 431, 'Request Header Fields Too Large'],
    [malformed, 400, 'Bad Request'],
  ] as const) {
    expect(answer).toMatchObject({ status, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(answer.body)).toEqual({ message })
  }
})

it('a stream of events ends without an answer inside it when its reader sends what is not a request', async () => {
  const { port, host } = new URL(cloud.apiUrl)
  const socket = connect(Number(port), '127.0.0.1')
  let received = ''
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  // A connection that the server resets is closed, too.
  socket.on('error', () => undefined)
  socket.on('data', chunk => {
    if (received === '') socket.write('no request\r\n\r\n')
    received += chunk
  })

  socket.write(`GET /v1/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await closed

  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(received).not.toContain('HTTP/1.1 400')
})

it('calls are charged again after a request of the dashboard with the same trace has failed', async () => {
  const trace = 'Root=1-6743a5c0-0123456789abcdef01234567'
  const headers = { 'x-amzn-trace-id': trace, 'sec-fetch-site': 'same-origin' }

  const answer = await ask('/gone', { headers })

  expect(answer.status).toBe(500)
  const call: Call = {
    ...{ caller: 'Echo', service: 'sqs', operation: 'SendMessage', method: 'POST', path: '/' },
    headers: { 'x-amzn-trace-id': trace },
    body: Buffer.from(JSON.stringify({ MessageBody: '{"id":"mail:a"}' })),
  }
  expect(cloud.meter.owners.ofCall(call, jsonAnswer(200, {}))).toEqual(['mail:a'])
})
