import torch
import torch.nn.functional as F

from casper.nets import kmeans_centres


def blobs():
    """Twenty points around each of three directions."""
    generator = torch.Generator().manual_seed(0)
    directions = torch.eye(5)[:3].repeat_interleave(20, dim=0)
    return directions + 0.01 * torch.randn(60, 5, generator=generator), directions


def test_separate_blobs_are_found():
    points, _ = blobs()
    lengths = torch.linspace(1, 9, 60)[:, None]  # only directions count
    centres = kmeans_centres(points * lengths, 3, seed=0)
    expected = torch.stack([F.normalize(points[start : start + 20]).mean(dim=0) for start in (0, 20, 40)])
    order = centres.argmax(dim=1).argsort()
    torch.testing.assert_close(centres[order], expected)


def test_centres_are_not_normalised_again():
    points = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(kmeans_centres(points, 1, seed=0), torch.tensor([[0.5, 0.5]]))


def test_equal_points_share_a_centre_without_a_warning(recwarn):
    assert torch.equal(kmeans_centres(torch.ones(5, 1), 3, seed=0), torch.ones(3, 1))
    assert len(recwarn) == 0


def test_the_seed_determines_them_and_fewer_points_give_fewer_centres():
    points = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(kmeans_centres(points, 10, seed=3), kmeans_centres(points, 10, seed=3))
    assert kmeans_centres(points[:4], 10, seed=0).shape == (4, 4)
    assert kmeans_centres(points.double(), 2, seed=0).dtype == torch.float64
