import { JobError } from '@millrace/jobs/contract/errors';

import { internalRoute } from '../../../server/internal-route.ts';

export const dynamic = 'force-dynamic';

const notFound = (): Promise<never> =>
  Promise.reject(new JobError('route_not_found', 'There is nothing at this path.'));

// Whatever is not a route is refused behind the same check.
const route = internalRoute('/internal/*', { GET: notFound, POST: notFound });
export {
  route as GET,
  route as POST,
  route as PUT,
  route as PATCH,
  route as DELETE,
  route as OPTIONS,
};
