/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The thin layer between the tasks in C and Box2D in C++. */
#include "actor/envs/box2d/world.h"

#include <assert.h>
#include <box2d/box2d.h>
#include <initializer_list>
#include <new>

namespace {

enum : uint16 { CATEGORY_GROUND = 0x0001, CATEGORY_BODY = 0x0020 };

class Touches : public b2ContactListener {
      public:
        bool touches[WORLD_BODIES_MAX] = {}, touched[WORLD_BODIES_MAX] = {};

        void BeginContact(b2Contact *contact) override {
                set(contact, true);
        }
        void EndContact(b2Contact *contact) override {
                set(contact, false);
        }

      private:
        void set(b2Contact *contact, bool value) {
                for (b2Fixture *fixture : { contact->GetFixtureA(), contact->GetFixtureB() }) {
                        uintptr_t number = fixture->GetBody()->GetUserData().pointer;

                        if (number == 0) /* the ground has none */
                                continue;
                        touches[number - 1] = value;
                        touched[number - 1] |= value;
                }
        }
};

class Nearest : public b2RayCastCallback {
      public:
        float fraction = 1.0f;

        float ReportFixture(b2Fixture *fixture, const b2Vec2 &, const b2Vec2 &, float found) override {
                if (!(fixture->GetFilterData().categoryBits & CATEGORY_GROUND))
                        return -1.0f; /* as if it were not there */
                fraction = found;
                return found; /* only what is nearer from now on */
        }
};

/* A revolute joint whose limit behaves as up to Box2D 2.3, with which the published tasks were defined.
 * Since 2.4 a limit is speculative (a joint is braked before it gets there) and solved after the anchor.
 * Before, a limit did nothing until it was passed, and was then solved together with the anchor as one
 * block of three. Legs that rest on their limits settle differently.
 *
 * Box2D offers no way to add a kind of joint, but it calls joints through virtual functions. So this joint
 * takes the place of the one that the world made, in its memory, and adds no member. Warm starting applies
 * m_lowerImpulse - m_upperImpulse, of which at most one is not 0: that is the limit's impulse. */
class Hinge : public b2RevoluteJoint {
      public:
        explicit Hinge(const b2RevoluteJoint &joint) : b2RevoluteJoint(joint) {
        }

      private:
        bool at_lower(float angle) const {
                return angle <= m_lowerAngle;
        }
        bool at_upper(float angle) const {
                return angle >= m_upperAngle;
        }

        void InitVelocityConstraints(const b2SolverData &data) override {
                float angle = GetJointAngle();

                if (!at_lower(angle))
                        m_lowerImpulse = 0.0f;
                if (!at_upper(angle))
                        m_upperImpulse = 0.0f;
                b2RevoluteJoint::InitVelocityConstraints(data); /* m_angle, m_rA, m_rB, masses */
        }

        void drive(const b2SolverData &data, float *turn_a, float *turn_b) {
                float most = data.step.dt * m_maxMotorTorque, before = m_motorImpulse, impulse;

                m_motorImpulse = b2Clamp(
                                before - m_axialMass * (*turn_b - *turn_a - m_motorSpeed), -most, most);
                impulse = m_motorImpulse - before;
                *turn_a -= m_invIA * impulse;
                *turn_b += m_invIB * impulse;
        }

        /* The impulse that brings anchor and limit to rest at once, or the anchor alone where the limit
         * would have to pull. */
        b2Vec3 rest(const b2Vec2 &slip, float turn) {
                float ia = m_invIA, ib = m_invIB, before = m_lowerImpulse - m_upperImpulse, after;
                b2Mat33 k;
                b2Vec3 impulse;

                k.ex.Set(m_K.ex.x, m_K.ex.y, -m_rA.y * ia - m_rB.y * ib);
                k.ey.Set(m_K.ey.x, m_K.ey.y, m_rA.x * ia + m_rB.x * ib);
                k.ez.Set(k.ex.z, k.ey.z, ia + ib);

                if (!at_lower(m_angle) && !at_upper(m_angle)) {
                        b2Vec2 alone = k.Solve22(-slip);

                        return b2Vec3(alone.x, alone.y, 0.0f);
                }

                impulse = -k.Solve33(b2Vec3(slip.x, slip.y, turn));
                after = before + impulse.z;
                if (at_lower(m_angle) ? after < 0.0f : after > 0.0f) {
                        b2Vec2 alone = k.Solve22(-slip + before * b2Vec2(k.ez.x, k.ez.y));

                        impulse.Set(alone.x, alone.y, -before);
                        after = 0.0f;
                }
                m_lowerImpulse = b2Max(after, 0.0f);
                m_upperImpulse = b2Max(-after, 0.0f);
                return impulse;
        }

        void SolveVelocityConstraints(const b2SolverData &data) override {
                b2Velocity &a = data.velocities[m_indexA], &b = data.velocities[m_indexB];
                b2Vec3 impulse;
                b2Vec2 push;

                drive(data, &a.w, &b.w);
                impulse = rest(b.v + b2Cross(b.w, m_rB) - a.v - b2Cross(a.w, m_rA), b.w - a.w);
                push.Set(impulse.x, impulse.y);
                m_impulse += push;

                a.v -= m_invMassA * push;
                a.w -= m_invIA * (b2Cross(m_rA, push) + impulse.z);
                b.v += m_invMassB * push;
                b.w += m_invIB * (b2Cross(m_rB, push) + impulse.z);
        }

        /* By how much the joint is beyond a limit that was passed when the step began. */
        float beyond(float angle) const {
                if (at_lower(m_angle))
                        return m_lowerAngle - angle;
                return at_upper(m_angle) ? angle - m_upperAngle : 0.0f;
        }

        /* Corrects only a limit that was passed when the step began, until it is within the slop. */
        bool SolvePositionConstraints(const b2SolverData &data) override {
                float angle = data.positions[m_indexB].a - data.positions[m_indexA].a - m_referenceAngle;
                float excess = beyond(angle);
                bool settled;

                m_enableLimit = at_lower(m_angle) || at_upper(m_angle);
                settled = b2RevoluteJoint::SolvePositionConstraints(data);
                m_enableLimit = true;
                return settled && excess <= b2_angularSlop;
        }
};
static_assert(sizeof(Hinge) == sizeof(b2RevoluteJoint), "it takes the other's place");

b2Vec2 vector(double x, double y) {
        return b2Vec2(static_cast<float>(x), static_cast<float>(y));
}

} /* namespace */

struct World {
        b2World world;
        Touches touches;
        uint32_t n_bodies = 0, n_joints = 0;
        b2Body *bodies[WORLD_BODIES_MAX] = {};
        b2RevoluteJoint *joints[WORLD_JOINTS_MAX] = {};

        explicit World(double gravity) : world(vector(0, gravity)) {
                world.SetContactListener(&touches);
        }
};

void world_prepare(void) {
        const double from[2] = { -1, 0 }, to[2] = { 1, 0 };
        World world(0);
        WorldBody box = {};

        box.n_vertices = 3;
        box.vertices[0][0] = -0.5;
        box.vertices[1][0] = 0.5;
        box.vertices[2][1] = 0.5;
        box.density = 1;
        world_ground(&world, from, to, 0);
        world_body(&world, &box);
        world_step(&world, 0.01, 1, 1);
}

World *world_new(double gravity) {
        return new (std::nothrow) World(gravity);
}

World *world_free(World *world) {
        delete world;
        return nullptr;
}

void world_ground(World *w, const double from[2], const double to[2], double friction) {
        b2BodyDef place;
        b2EdgeShape edge;
        b2FixtureDef fixture;

        edge.SetTwoSided(vector(from[0], from[1]), vector(to[0], to[1]));
        fixture.shape = &edge;
        fixture.friction = static_cast<float>(friction);
        fixture.filter.categoryBits = CATEGORY_GROUND;
        w->world.CreateBody(&place)->CreateFixture(&fixture);
}

void world_block(World *w, const double (*corners)[2], uint32_t n, double friction) {
        b2BodyDef place;
        b2PolygonShape polygon;
        b2FixtureDef fixture;
        b2Vec2 vertices[WORLD_VERTICES_MAX];

        assert(n <= WORLD_VERTICES_MAX);

        for (uint32_t i = 0; i < n; i++)
                vertices[i] = vector(corners[i][0], corners[i][1]);
        polygon.Set(vertices, static_cast<int32>(n));
        fixture.shape = &polygon;
        fixture.friction = static_cast<float>(friction);
        fixture.filter.categoryBits = CATEGORY_GROUND;
        w->world.CreateBody(&place)->CreateFixture(&fixture);
}

void world_body(World *w, const WorldBody *body) {
        b2BodyDef place;
        b2PolygonShape polygon;
        b2FixtureDef fixture;
        b2Vec2 vertices[WORLD_VERTICES_MAX];

        assert(w->n_bodies < WORLD_BODIES_MAX);
        assert(body->n_vertices <= WORLD_VERTICES_MAX);

        for (uint32_t i = 0; i < body->n_vertices; i++)
                vertices[i] = vector(body->vertices[i][0], body->vertices[i][1]);
        polygon.Set(vertices, static_cast<int32>(body->n_vertices));
        fixture.shape = &polygon;
        fixture.density = static_cast<float>(body->density);
        fixture.friction = static_cast<float>(body->friction);
        fixture.filter.categoryBits = CATEGORY_BODY;
        fixture.filter.maskBits = CATEGORY_GROUND;

        place.type = b2_dynamicBody;
        place.position = vector(body->x, body->y);
        place.angle = static_cast<float>(body->angle);
        place.userData.pointer = w->n_bodies + 1;

        w->bodies[w->n_bodies] = w->world.CreateBody(&place);
        w->bodies[w->n_bodies]->CreateFixture(&fixture);
        w->n_bodies++;
}

void world_joint(World *w, const WorldJoint *joint) {
        b2RevoluteJointDef hinge;
        b2RevoluteJoint *made;

        assert(w->n_joints < WORLD_JOINTS_MAX);
        assert(joint->a < w->n_bodies && joint->b < w->n_bodies);

        hinge.bodyA = w->bodies[joint->a];
        hinge.bodyB = w->bodies[joint->b];
        hinge.localAnchorA = vector(joint->anchor_a[0], joint->anchor_a[1]);
        hinge.localAnchorB = vector(joint->anchor_b[0], joint->anchor_b[1]);
        hinge.referenceAngle = hinge.bodyB->GetAngle() - hinge.bodyA->GetAngle();
        hinge.enableLimit = true;
        hinge.lowerAngle = static_cast<float>(joint->lower);
        hinge.upperAngle = static_cast<float>(joint->upper);
        hinge.enableMotor = true;
        hinge.maxMotorTorque = static_cast<float>(joint->motor_torque_max);
        hinge.motorSpeed = static_cast<float>(joint->motor_speed);

        made = static_cast<b2RevoluteJoint *>(w->world.CreateJoint(&hinge));
        b2RevoluteJoint copy(*made);
        w->joints[w->n_joints++] = new (made) Hinge(copy);
}

void world_force(World *w, uint32_t body, double x, double y) {
        w->bodies[body]->ApplyForceToCenter(vector(x, y), true);
}

void world_torque(World *w, uint32_t body, double torque) {
        w->bodies[body]->ApplyTorque(static_cast<float>(torque), true);
}

void world_impulse(World *w, uint32_t body, double x, double y, double at_x, double at_y) {
        w->bodies[body]->ApplyLinearImpulse(vector(x, y), vector(at_x, at_y), true);
}

void world_motor(World *w, uint32_t joint, double speed, double torque_max) {
        w->joints[joint]->SetMotorSpeed(static_cast<float>(speed));
        w->joints[joint]->SetMaxMotorTorque(static_cast<float>(torque_max));
}

void world_step(World *w, double seconds, int n_velocity_iterations, int n_position_iterations) {
        w->world.Step(static_cast<float>(seconds), n_velocity_iterations, n_position_iterations);
}

WorldMotion world_motion(const World *w, uint32_t body) {
        const b2Body *b = w->bodies[body];
        WorldMotion motion = {};

        motion.x = static_cast<double>(b->GetPosition().x);
        motion.y = static_cast<double>(b->GetPosition().y);
        motion.angle = static_cast<double>(b->GetAngle());
        motion.velocity_x = static_cast<double>(b->GetLinearVelocity().x);
        motion.velocity_y = static_cast<double>(b->GetLinearVelocity().y);
        motion.velocity_angle = static_cast<double>(b->GetAngularVelocity());
        motion.touches = w->touches.touches[body];
        motion.touched = w->touches.touched[body];
        motion.awake = b->IsAwake();
        return motion;
}

uint32_t world_outline(const World *w, uint32_t body, double ret[WORLD_VERTICES_MAX][2]) {
        const b2Body *b = w->bodies[body];
        const b2PolygonShape *polygon = static_cast<const b2PolygonShape *>(b->GetFixtureList()->GetShape());

        for (int32 i = 0; i < polygon->m_count; i++) {
                b2Vec2 at = b->GetWorldPoint(polygon->m_vertices[i]);

                ret[i][0] = static_cast<double>(at.x);
                ret[i][1] = static_cast<double>(at.y);
        }
        return static_cast<uint32_t>(polygon->m_count);
}

double world_joint_angle(const World *w, uint32_t joint) {
        return static_cast<double>(w->joints[joint]->GetJointAngle());
}

double world_joint_speed(const World *w, uint32_t joint) {
        return static_cast<double>(w->joints[joint]->GetJointSpeed());
}

double world_sight(const World *w, double x, double y, double to_x, double to_y) {
        Nearest nearest;

        w->world.RayCast(&nearest, vector(x, y), vector(to_x, to_y));
        return static_cast<double>(nearest.fraction);
}
