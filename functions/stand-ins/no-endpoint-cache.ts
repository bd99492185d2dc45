/**
 * Replaces the AWS SDK's cache of discovered endpoints in the bundles of the system's functions. The SDK makes the cache with
 * each DynamoDB client, but uses it only where endpoint discovery is switched on. The system's functions never switch it on.
 * The real cache makes up 5 KB of each bundle.
 */
export class EndpointCache {}
