import { CfnOutput } from 'aws-cdk-lib'
import { CorsHttpMethod, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration, HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { expect, it } from 'vitest'
import { aTinyCloud, fixtureFunction } from '../tiny-cloud.ts'

/** The HTTP APIs of a user's stack besides the task system's own. */

const logged: string[] = []
const cloud = aTinyCloud(
  stack => {
    const fn = fixtureFunction(stack, 'Echo', 'http-echo')
    const echoOf = (id: string) => new HttpLambdaIntegration(id, fn)
    const echo = echoOf('Echo')
    // It is created before the task system's own, as in an app that adds its system last.
    const shop = new HttpApi(stack, 'Shop', {
      corsPreflight: {
        allowOrigins: ['http://localhost:5173'],
        allowMethods: [CorsHttpMethod.ANY],
        allowHeaders: ['content-type'],
      },
    })
    const route = (path: string, methods: HttpMethod[], more: object = {}) =>
      shop.addRoutes({ path, methods, integration: echo, ...more })
    route('/orders/{id}', [HttpMethod.GET])
    route('/files/{proxy+}', [HttpMethod.ANY])
    route('/signed', [HttpMethod.GET], { authorizer: new HttpIamAuthorizer() })
    const authorizer = new HttpJwtAuthorizer('Jwt', 'https://issuer.example', { jwtAudience: ['shop'] })
    route('/private', [HttpMethod.GET], { authorizer })
    route('/elsewhere', [HttpMethod.GET], {
      integration: new HttpUrlIntegration('Url', 'https://shop.example'),
    })
    new HttpApi(stack, 'Tasks', { description: 'Baton: HTTP API', defaultIntegration: echoOf('T') })
    new HttpApi(stack, 'Catch', { defaultIntegration: echoOf('C') })
    new CfnOutput(stack, 'ShopUrl', { value: shop.apiEndpoint })
    fixtureFunction(stack, 'Caller', 'writer', { environment: { SHOP: shop.apiEndpoint } })
  },
  { log: ({ line }) => logged.push(line) },
)

const urlOf = (api: string) => cloud.resource('AWS::ApiGatewayV2::Api', api).attributes.ApiEndpoint

const ask = (path: string, init: RequestInit = {}, api = 'Shop') => fetch(`${urlOf(api)}${path}`, init)

// biome-ignore lint/suspicious/noExplicitAny: tests read answers as their users do, without types
const eventOf = async (path: string, init: RequestInit = {}, api = 'Shop'): Promise<any> =>
  (await ask(path, init, api)).json()

it('an API of the user has an address of its own, which its outputs and functions name', async () => {
  const url = urlOf('Shop')

  expect(url).not.toBe(cloud.apiUrl)
  expect(cloud.outputs.ShopUrl).toBe(url)
  expect(logged).toContain(`Tiny/Shop is served at ${url}`)
  expect(await cloud.functions.find('Caller').invoke({})).toMatchObject({
    payload: { environment: { SHOP: url } },
  })
})

it('its routes are its own: with parameters, greedy, and the default one', async () => {
  expect(await eventOf('/orders/7?x=1')).toMatchObject({
    version: '2.0',
    routeKey: 'GET /orders/{id}',
    pathParameters: { id: '7' },
    queryStringParameters: { x: '1' },
  })
  expect(await eventOf('/files/a/b', { method: 'DELETE' })).toMatchObject({
    routeKey: 'ANY /files/{proxy+}',
    pathParameters: { proxy: 'a/b' },
  })
  expect((await ask('/healthz')).status).toBe(404)
  expect((await ask('/v1/tasks')).status).toBe(404)
  expect(await eventOf('/any/path', {}, 'Catch')).toMatchObject({ routeKey: '$default' })
})

it('an open route has no caller, and one with IAM has the local user', async () => {
  expect((await eventOf('/orders/7')).requestContext).not.toHaveProperty('authorizer')
  expect((await eventOf('/signed')).requestContext.authorizer.iam).toMatchObject({
    accountId: '000000000000',
  })
})

it('a route whose authorizer or integration does not run here is named once and refused', async () => {
  const answer = await ask('/private', { headers: { authorization: 'Bearer x' } })

  expect(answer.status).toBe(501)
  expect(await answer.json()).toMatchObject({ detail: 'its authorizer (JWT) does not run here' })
  expect((await ask('/elsewhere')).status).toBe(501)
  expect(logged.filter(line => line.includes('JWT'))).toEqual([
    expect.stringMatching(/^NOT SUPPORTED locally: Tiny\/Shop\/GET--private .*; its requests are refused$/),
  ])
})

it('pages of the origins in its CORS settings may call it, and others are refused', async () => {
  const origin = 'http://localhost:5173'
  const preflight = await ask('/orders/7', {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'GET' },
  })
  const answer = await ask('/orders/7', { headers: { origin, 'sec-fetch-site': 'cross-site' } })

  expect([preflight.status, Object.fromEntries(preflight.headers)]).toMatchObject([
    204,
    {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'content-type',
    },
  ])
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([201, origin])
  expect((await ask('/orders/7', { headers: { origin: 'http://evil.example' } })).status).toBe(403)
})
