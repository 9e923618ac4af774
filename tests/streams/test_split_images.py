from casper.streams import Transform, split_images
from casper.streams.sources import ParquetFolder, load
from image_files import write_set


def test_everything_reaches_the_stream(tmp_path):
    write_set(tmp_path, 6)
    data = load(ParquetFolder(tmp_path))
    transform = Transform((0.5,) * 3, (0.5,) * 3)
    stream = split_images(data, transform, num_tasks=3, class_order="shuffled", seed=5)
    assert (len(stream), stream.transform, stream.about) == (3, transform, data.about)
    assert sorted(stream.class_names) == sorted(data.class_names)
    assert stream.class_names != data.class_names
    assert split_images(data, transform, num_tasks=3, class_order="shuffled", seed=6).class_names != stream.class_names
    assert split_images(data, transform, num_tasks=2).class_names == data.class_names
